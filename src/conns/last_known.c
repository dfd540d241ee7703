/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of open connections without a record in the interval: their state when last seen. */
#include "conns/tables.h"

#include "base/bug.h"
#include "conns/words.h"

static const struct column last_known_columns[] = {
	{ .name = "cookie" }, { .name = "netns" }, { .name = "local" }, { .name = "remote" },
	{ .name = "app" }, { .name = "pid" }, { .name = "state" }, { .name = "age_ns" },
	{ .name = "harmful" },
};

static void last_known_add(const struct conns *c, uint32_t conn, struct table *t, struct report *r)
{
	const struct conn *known = &c->all.items[conn];
	struct conn_view_buf room;
	const struct conn_view *v = &room.view;

	if (!conns_view(c, CONNS_TOTAL, conn, &room))
		return;
	TABLE_ADD(t, words_cookie(r, v->c->cookie), words_netns(v, r), words_local(r, v->flow),
		  words_remote(r, v->flow), value_string(words_app(v)),
		  v->c->pid ? value_u64(v->c->pid) : value_null(),
		  value_string(conn_status_name((enum conn_status)known->status)),
		  value_ns(words_age(v->c, c->periods[CONNS_INTERVAL].to_ns)),
		  value_list(words_classes(known->harmful, r)));
}

/* Lists connections with a problem first, as their number is limited. */
void tables_last_known(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	struct table *t = table_new(r, last_known_columns, ARRAY_LEN(last_known_columns));
	uint64_t n = 0;

	if (c->options.text_only)
		return;
	for (int others = 0; s->last_known && others <= !c->options.problems_only; others++) {
		for (uint32_t i = 0; i < c->all.len; i++) {
			const struct conn *known = &c->all.items[i];

			if (!select_is_last_known(known) || others != !known->harmful)
				continue;
			if (n++ < TABLES_LAST_KNOWN_MAX)
				last_known_add(c, i, t, r);
		}
	}
	object_add(&r->body, "last_known", value_table(t));
	object_add(&r->body, "last_known_left_out",
		   value_u64(n > TABLES_LAST_KNOWN_MAX ? n - TABLES_LAST_KNOWN_MAX : 0));
}
