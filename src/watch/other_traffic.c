/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/other_traffic.h"

#include <string.h>

#include "base/strbuf.h"
#include "report/human.h"

static const struct {
	enum count_what what;
	const char *path, *words;
} paths[] = {
	{ COUNT_UNCOVERED, "local", "for this host" },
	{ COUNT_FORWARDED, "forwarded", "forwarded" },
};

static bool other_traffic_is_counted(const struct watch *w)
{
	return w->other_traffic && strcmp(w->other_traffic, "counted") == 0;
}

void watch_add_uncovered(const struct watch *w, enum watch_span span, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "protocol" }, { .name = "way" }, { .name = "count" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		vec_for_each(&w->counts, c) {
			if (c->id.what != paths[i].what || !c->count[span])
				continue;
			TABLE_ADD(t, value_string(watch_name(w, DICT_STRING, c->id.reason)),
				  value_string(paths[i].path), value_u64(c->count[span]));
		}
	object_add(&r->body, "uncovered",
		   other_traffic_is_counted(w) ? value_table(t) : value_null());
	object_add(&r->body, "uncovered_why",
		   other_traffic_is_counted(w) || !w->other_traffic
			   ? value_null()
			   : value_string(w->other_traffic));
}

int watch_put_uncovered(const struct watch *w, enum watch_span span, struct report *r)
{
	struct strbuf text = STRBUF_INIT(4096);
	char count[HUMAN_MAX];
	int err;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const char *between = text.len ? "; " : "";
		bool any = false;

		vec_for_each(&w->counts, c) {
			const char *name = watch_name(w, DICT_STRING, c->id.reason);

			if (c->id.what != paths[i].what || !c->count[span])
				continue;
			if (!any)
				strbuf_printf(&text, "%s%s: ", between, paths[i].words);
			strbuf_printf(&text, "%s%s %s", any ? ", " : "",
				      human_count(count, c->count[span]), name ? name : "unknown");
			any = true;
		}
	}
	err = text.error;
	if (text.len)
		report_finding(r, "Packets that no stage covers, %s.", strbuf_str(&text));
	strbuf_release(&text);
	return err;
}
