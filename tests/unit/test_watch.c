/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis behind `hostlat watch`, on events made by chance from fixed seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "event/names.h"
#include "output/json.h"
#include "report/report.h"
#include "stats/hist.h"
#include "watch/watch.h"

#define DELTAS 60
#define INTERVALS 20
#define BUCKETS 4
#define REASONS 3

static const struct provenance nobody = { .version = "1", .command = "watch", .schema = 1 };

/* ---- events ---- */

struct any {
	uint16_t kind;
	uint32_t size;
	union {
		struct {
			struct event_hist head;
			struct event_bucket buckets[BUCKETS];
		} hist;
		struct event_count count;
		struct event_share share;
		struct event_culprit culprit;
		struct event_binding binding;
		struct event_interval interval;
		struct event_loss loss;
		struct event_name name;
		char name_bytes[sizeof(struct event_name) + 24];
		uint64_t align;
	};
};

static int feed(struct watch *w, const struct any *any)
{
	struct event event = {
		.kind = any->kind, .core = EVENT_CORE_NONE, .size = any->size,
		.payload = &any->align,
	};

	return watch_feed(w, &event);
}

static void feed_name(struct watch *w, uint32_t id, const char *text)
{
	struct any any = { .kind = EV_NAME };

	any.name.dict = DICT_STRING;
	any.name.id = id;
	snprintf(any.name.text, sizeof(any.name_bytes) - sizeof(any.name), "%s", text);
	any.size = (uint32_t)(sizeof(any.name) + strlen(text) + 1);
	assert_int_equal(feed(w, &any), WATCH_MORE);
}

static int feed_binding(struct watch *w, enum stage stage, enum transport protocol, bool bound,
			uint32_t why)
{
	struct any any = { .kind = EV_BINDING, .size = sizeof(any.binding) };

	any.binding = (struct event_binding){
		.stage = (__u8)stage, .protocol = (__u8)protocol, .bound = bound, .why = why };
	return feed(w, &any);
}

static struct any interval(uint64_t seq)
{
	struct any any = { .kind = EV_INTERVAL, .size = sizeof(any.interval) };

	any.interval = (struct event_interval){
		.seq = seq, .from_ns = seq * 1000, .to_ns = (seq + 1) * 1000, .ncpus = 2,
		.own_user_ns = 3, .own_bpf_ns = 4,
	};
	return any;
}

static struct any some_hist(struct rng *rng)
{
	struct any any = { .kind = EV_HIST };
	struct event_hist *h = &any.hist.head;

	*h = (struct event_hist){
		.stage = (__u8)(STAGE_LINK + rng_below(rng, 7)),
		.protocol = (__u8)(PROTO_TCP + rng_below(rng, 2)),
		.origin = (__u8)(ORIGIN_LINK + rng_below(rng, 2)),
		.dist = (__u8)rng_below(rng, DIST_MAX), .schema = 3,
		.group = (__u32)rng_below(rng, 3), .n = BUCKETS,
		.sum_ns = rng_below(rng, 1 << 20), .min_ns = 1 + rng_below(rng, 10),
		.max_ns = 1000 + rng_below(rng, 1000), .zero = rng_below(rng, 3),
	};
	for (int i = 0; i < BUCKETS; i++) {
		/* From 32 ns: lower down some buckets hold no integer. */
		any.hist.buckets[i].index = (__s32)(40 + 20 * i + (int)rng_below(rng, 20));
		any.hist.buckets[i].count = 1 + rng_below(rng, 100);
	}
	any.size = sizeof(any.hist);
	return any;
}

static struct any some_event(struct rng *rng)
{
	struct any any = { 0 };

	switch (rng_below(rng, 6)) {
	case 0:
		any.kind = EV_COUNT;
		any.size = sizeof(any.count);
		any.count = (struct event_count){
			.what = (__u8)rng_below(rng, COUNT_MAX),
			.stage = (__u8)rng_below(rng, STAGE_READ + 1),
			.protocol = (__u8)rng_below(rng, PROTO_MAX),
			.reason = (__u32)rng_below(rng, REASONS + 2), .count = rng_below(rng, 9),
		};
		return any;
	case 1:
		any.kind = EV_SHARE;
		any.size = sizeof(any.share);
		any.share = (struct event_share){
			.protocol = PROTO_TCP, .packets = rng_below(rng, 9), .busy_ns = 5,
			.wait_ns = rng_below(rng, 1 << 20), .waited = rng_below(rng, 5),
		};
		return any;
	case 2:
		any.kind = EV_CULPRIT;
		any.size = sizeof(any.culprit);
		any.culprit = (struct event_culprit){
			.pid = (__u32)rng_below(rng, 50), .ns = rng_below(rng, 1 << 20),
			.count = 1,
		};
		snprintf(any.culprit.comm, sizeof(any.culprit.comm), "task%u", any.culprit.pid % 3);
		return any;
	default:
		return some_hist(rng);
	}
}

static struct watch *new_watch(uint64_t stages)
{
	struct watch *w = watch_new(stages);

	assert_non_null(w);
	feed_name(w, 1, "SOCKET_RCVBUFF");
	feed_name(w, 2, "no hook");
	feed_name(w, 3, WATCH_NOT_SELECTED);
	return w;
}

static void shuffle(struct rng *rng, struct any *events, size_t n)
{
	for (size_t i = n - 1; i; i--) {
		size_t other = rng_below(rng, i + 1);
		struct any any = events[i];

		events[i] = events[other];
		events[other] = any;
	}
}

/* ---- reports ---- */

static const struct value *field(const struct object *o, const char *name)
{
	for (const struct object_field *f = o->first; f; f = f->next) {
		if (f->name && strcmp(f->name, name) == 0)
			return &f->value;
	}
	fail_msg("no field %s", name);
	return NULL;
}

static const struct table *table(const struct report *r, const char *name)
{
	const struct value *v = field(&r->body, name);

	assert_int_equal(v->type, VALUE_TABLE);
	return v->table;
}

static void begin(struct watch *w, enum watch_span span, struct report *r)
{
	report_init(r, &nobody);
	assert_int_equal(watch_report(w, span, r), 0);
}

static char *json(struct watch *w, enum watch_span span)
{
	struct strbuf out = STRBUF_INIT(1 << 24);
	struct report r;

	begin(w, span, &r);
	json_report(&r, JSON_DOCUMENT, &out);
	report_release(&r);
	assert_int_equal(out.error, 0);
	return strbuf_detach(&out);
}

/* Everything that adds up, as a list of (what, number). */
struct sums {
	struct {
		char what[200];
		uint64_t n;
	} items[4096];
	size_t len;
};

static void add_sum(struct sums *s, const char *what, uint64_t n)
{
	size_t i = 0;

	if (!n)
		return;
	while (i < s->len && strcmp(s->items[i].what, what) != 0)
		i++;
	if (i == s->len) {
		assert_true(s->len < 4096);
		snprintf(s->items[s->len++].what, sizeof(s->items[0].what), "%s", what);
	}
	s->items[i].n += n;
}

static void add_hist(struct sums *s, const char *what, const struct hist *h)
{
	int32_t index = INT32_MIN;
	char name[200];
	uint64_t n;

	snprintf(name, sizeof(name), "%s sum", what);
	add_sum(s, name, h->sum);
	snprintf(name, sizeof(name), "%s zero", what);
	add_sum(s, name, h->zero);
	while (hist_next(h, &index, &n)) {
		snprintf(name, sizeof(name), "%s bucket %d", what, index);
		add_sum(s, name, n);
	}
}

static void put_key(char *key, size_t size, const struct value *v)
{
	size_t len = strlen(key);

	if (v->type == VALUE_STRING)
		snprintf(key + len, size - len, " %s", v->string);
	else if (v->type == VALUE_OBJECT && v->object->first)
		snprintf(key + len, size - len, " %llu",
			 (unsigned long long)v->object->first->value.u64);
}

/* Rows are named by their strings; pids are left to the totals of "others" and of names. */
static void add_table(struct sums *s, const struct report *r, const char *name)
{
	const struct table *t = table(r, name);

	for (const struct table_row *row = t->first; row; row = row->next) {
		char key[100], what[160];

		snprintf(key, sizeof(key), "%s", name);
		for (size_t i = 0; i < t->ncolumns; i++)
			put_key(key, sizeof(key), &row->cells[i]);
		for (size_t i = 0; i < t->ncolumns; i++) {
			const struct value *v = &row->cells[i];
			const char *column = t->columns[i].name;

			snprintf(what, sizeof(what), "%s %s", key, column ? column : "");
			if (v->type == VALUE_DISTRIBUTION)
				add_hist(s, what, v->distribution->hist);
			else if ((v->type == VALUE_U64 || v->type == VALUE_NS) &&
				 strcmp(column, "pid") != 0)
				add_sum(s, what, v->u64);
		}
	}
}

static void add_report(struct sums *s, struct watch *w, enum watch_span span)
{
	static const char *const tables[] = {
		"stages", "drops", "losses", "excluded", "scheduler",
	};
	const struct table *t;
	struct report r;

	begin(w, span, &r);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		add_table(s, &r, tables[i]);
	t = table(&r, "culprits");
	for (const struct table_row *row = t->first; row; row = row->next) {
		add_sum(s, "culprits ns", row->cells[2].u64);
		add_sum(s, "culprits count", row->cells[3].u64);
	}
	report_release(&r);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* ---- tests ---- */

static void intervals_add_up_to_the_totals(void **state)
{
	struct sums *parts = calloc(1, sizeof(*parts)), *total = calloc(1, sizeof(*total));
	struct watch *w = new_watch(0);
	struct rng rng;

	(void)state;
	assert_true(parts && total);
	rng_init(&rng, 1);
	for (uint64_t seq = 0; seq < INTERVALS; seq++) {
		struct any end = interval(seq);

		for (int i = 0; i < DELTAS; i++) {
			struct any any = some_event(&rng);

			assert_int_equal(feed(w, &any), WATCH_MORE);
		}
		assert_int_equal(feed(w, &end), WATCH_CLOSED);
		add_report(parts, w, WATCH_INTERVAL);
	}
	add_report(total, w, WATCH_TOTAL);
	assert_true(total->len > 100);
	assert_int_equal(parts->len, total->len);
	qsort(parts->items, parts->len, sizeof(parts->items[0]), by_name);
	qsort(total->items, total->len, sizeof(total->items[0]), by_name);
	for (size_t i = 0; i < total->len; i++) {
		assert_string_equal(parts->items[i].what, total->items[i].what);
		assert_int_equal(parts->items[i].n, total->items[i].n);
	}
	watch_free(w);
	free(parts);
	free(total);
}

static void order_does_not_matter(void **state)
{
	struct watch *a = new_watch(0), *b = new_watch(0);
	struct any events[DELTAS];
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (uint64_t seq = 0; seq < INTERVALS; seq++) {
		struct any end = interval(seq);

		for (int i = 0; i < DELTAS; i++) {
			events[i] = some_event(&rng);
			assert_int_equal(feed(a, &events[i]), WATCH_MORE);
		}
		shuffle(&rng, events, DELTAS);
		for (int i = 0; i < DELTAS; i++)
			assert_int_equal(feed(b, &events[i]), WATCH_MORE);
		assert_int_equal(feed(a, &end), WATCH_CLOSED);
		assert_int_equal(feed(b, &end), WATCH_CLOSED);
		for (int span = 0; span < WATCH_SPANS; span++) {
			char *x = json(a, span), *y = json(b, span);

			assert_string_equal(x, y);
			free(x);
			free(y);
		}
	}
	watch_free(a);
	watch_free(b);
}

static void an_unbound_stage_is_partial(void **state)
{
	static const struct {
		uint64_t stages;
		uint32_t why;
		bool partial;
	} cases[] = {
		{ 0, 2, true },                      /* no hook */
		{ 0, 3, false },                     /* not selected by who measured */
		{ 1ULL << STAGE_READ, 2, false },    /* nor by who looks */
		{ 1ULL << STAGE_IP, 2, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct watch *w = new_watch(cases[i].stages);
		struct report r;

		assert_int_equal(feed_binding(w, STAGE_IP, PROTO_ANY, false, cases[i].why), 0);
		begin(w, WATCH_TOTAL, &r);
		assert_int_equal(r.partial, cases[i].partial);
		assert_int_equal(r.reasons->nrows, cases[i].partial);
		assert_int_equal(table(&r, "stages")->nrows, cases[i].partial);
		assert_int_equal(table(&r, "bindings")->nrows, 1);
		report_release(&r);
		watch_free(w);
	}
}

/* TCP was measured at stages that nobody looks at: UDP's rows are there all the same. */
static void hidden_rows_hide_nothing_else(void **state)
{
	struct watch *w = new_watch(1ULL << STAGE_IP);
	struct rng rng;
	struct any any;
	struct report r;

	(void)state;
	rng_init(&rng, 3);
	any = some_hist(&rng);
	for (int protocol = PROTO_ANY; protocol < PROTO_MAX; protocol++) {
		any.hist.head.protocol = (__u8)protocol;
		any.hist.head.dist = DIST_LATENCY;
		any.hist.head.stage = protocol == PROTO_UDP ? STAGE_IP : STAGE_READ;
		assert_int_equal(feed(w, &any), WATCH_MORE);
	}
	begin(w, WATCH_TOTAL, &r);
	assert_int_equal(table(&r, "stages")->nrows, 1);
	report_release(&r);
	watch_free(w);
}

static void losses_are_partial(void **state)
{
	struct any loss = { .kind = EV_COUNT, .size = sizeof(loss.count) };
	struct any lost = { .kind = EV_LOSS, .size = sizeof(lost.loss) };
	struct any end = interval(0), next = interval(1);
	struct watch *w = new_watch(0);
	struct report r;

	(void)state;
	loss.count = (struct event_count){ .what = COUNT_LOSS, .reason = 1, .count = 1 };
	lost.loss = (struct event_loss){ .why = LOSS_PRODUCER, .records = 5 };
	assert_int_equal(feed(w, &loss), WATCH_MORE);
	assert_int_equal(feed(w, &lost), WATCH_MORE);
	assert_int_equal(feed(w, &end), WATCH_CLOSED);
	begin(w, WATCH_INTERVAL, &r);
	assert_int_equal(r.reasons->nrows, 2);
	report_release(&r);
	assert_int_equal(feed(w, &next), WATCH_CLOSED);
	begin(w, WATCH_INTERVAL, &r);
	assert_false(r.partial);
	report_release(&r);
	begin(w, WATCH_TOTAL, &r);
	assert_true(r.partial);
	report_release(&r);
	watch_free(w);
}

static void add_culprits(struct watch *w, enum watch_span span, uint64_t *ns, uint64_t *count)
{
	const struct table_row *row;
	struct report r;

	*ns = *count = 0;
	begin(w, span, &r);
	for (row = table(&r, "culprits")->first; row; row = row->next) {
		*ns += row->cells[2].u64;
		*count += row->cells[3].u64;
		if (!row->next && *count > 1)
			assert_string_equal(row->cells[1].string, "others");
	}
	report_release(&r);
}

/* More tasks than the table of tasks takes, and than a report shows: nothing gets lost. */
static void culprits_are_exact_beyond_the_limits(void **state)
{
	struct any any = { .kind = EV_CULPRIT, .size = sizeof(any.culprit) };
	struct any end = interval(0);
	struct watch *w = new_watch(0);
	uint64_t ns, count;

	(void)state;
	for (uint32_t pid = 1; pid <= 10000; pid++) {
		any.culprit = (struct event_culprit){
			.pid = pid, .comm = "x", .ns = pid, .count = 1 };
		assert_int_equal(feed(w, &any), WATCH_MORE);
	}
	add_culprits(w, WATCH_INTERVAL, &ns, &count);
	assert_int_equal(ns, 10000ULL * 10001 / 2);
	assert_int_equal(count, 10000);
	assert_int_equal(feed(w, &end), WATCH_CLOSED);
	assert_int_equal(feed(w, &any), WATCH_MORE);
	add_culprits(w, WATCH_INTERVAL, &ns, &count);
	assert_int_equal(ns, 10000);
	assert_int_equal(count, 1);
	add_culprits(w, WATCH_TOTAL, &ns, &count);
	assert_int_equal(ns, 10000ULL * 10001 / 2 + 10000);
	assert_int_equal(count, 10001);
	watch_free(w);
}

/* More rows than the table holds: the report stays right about those in it, and is partial. */
static void too_many_rows_are_counted(void **state)
{
	struct watch *w = new_watch(0);
	struct rng rng;
	struct any any;
	struct report r;

	(void)state;
	rng_init(&rng, 4);
	any = some_hist(&rng);
	any.hist.head.dist = DIST_LATENCY;
	for (uint32_t group = 1; group <= 65536 + 5; group++) {
		any.hist.head.group = group;
		assert_int_equal(feed(w, &any), WATCH_MORE);
	}
	begin(w, WATCH_TOTAL, &r);
	assert_int_equal(table(&r, "stages")->nrows, 65536);
	assert_string_equal(r.reasons->first->cells[0].string, "limit");
	assert_string_equal(r.reasons->first->cells[1].string,
			    "5 events were ignored: hostlat watch had reached a limit, such as the "
			    "largest number of rows");
	report_release(&r);
	watch_free(w);
}

/* A checksum cannot catch payloads of the right size with impossible numbers. */
static void nonsense_is_refused(void **state)
{
	struct watch *w = new_watch(0);
	struct any bad = { .kind = EV_HIST, .size = sizeof(bad.hist) };
	struct any backwards = interval(3);
	struct report r;

	(void)state;
	bad.hist.head.stage = STAGE_MAX;
	assert_int_equal(feed(w, &bad), -EBADMSG);
	bad.hist.head = (struct event_hist){ .stage = STAGE_READ, .schema = 100 };
	assert_int_equal(feed(w, &bad), -EBADMSG);
	bad.hist.head = (struct event_hist){ .stage = STAGE_READ, .schema = 3, .n = 1 };
	bad.hist.buckets[0].index = INT32_MAX;
	assert_int_equal(feed(w, &bad), -EBADMSG);
	backwards.interval.to_ns = 0;
	assert_int_equal(feed(w, &backwards), -EBADMSG);
	assert_int_equal(feed_binding(w, STAGE_NONE, PROTO_TCP, true, 0), -EBADMSG);
	assert_int_equal(feed_binding(w, STAGE_READ, PROTO_MAX, true, 0), -EBADMSG);
	begin(w, WATCH_TOTAL, &r);
	assert_int_equal(table(&r, "stages")->nrows, 0);
	assert_int_equal(table(&r, "bindings")->nrows, 0);
	assert_int_equal(r.reasons->nrows, 1);
	assert_string_equal(r.reasons->first->cells[0].string, "events-invalid");
	assert_string_equal(r.reasons->first->cells[1].string,
			    "6 events were ignored because of impossible values");
	report_release(&r);
	watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_add_up_to_the_totals),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(an_unbound_stage_is_partial),
		cmocka_unit_test(hidden_rows_hide_nothing_else),
		cmocka_unit_test(losses_are_partial),
		cmocka_unit_test(culprits_are_exact_beyond_the_limits),
		cmocka_unit_test(too_many_rows_are_counted),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
