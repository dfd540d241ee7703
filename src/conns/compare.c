/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "conns/counter.h"
#include "conns/problem.h"
#include "conns/state.h"
#include "conns/words.h"
#include "event/conn_times.h"
#include "report/human.h"

/* Measures of one end (server or client): a time share for each limit, a rate for each counter. */
#define MEASURES (WORDS_TIMES + COUNTER_EVENTS)
#define ROWS (LIMITS_ENDS * MEASURES)

/* Sums over the connections of one end (server or client) in a block of intervals. */
struct block {
	double known_ns, all_ns;   /* connections' time without its unknown part; all of it */
	double of[MEASURES];       /* by measure: time in ns, or number of events */
};

struct conns_run {
	struct conns_options options;
	struct conns *conns;
	struct limits limits;
	struct block blocks[LIMITS_ENDS][CONTRAST_BLOCKS];
	uint64_t intervals;
	uint64_t together;         /* number of intervals in each block */
};

int conns_run_new(struct conns_run **out, bool (*select)(const struct conn_view *view, void *ctx),
		  void *ctx)
{
	struct conns_run *run = *out = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	run->together = 1;
	run->options = (struct conns_options){ .all = true, .select = select, .ctx = ctx };
	run->conns = conns_new(&run->options);
	limits_init(&run->limits, run->conns);
	return run->conns ? 0 : -ENOMEM;
}

void conns_run_free(struct conns_run *run)
{
	if (!run)
		return;
	limits_release(&run->limits);
	conns_free(run->conns);
	free(run);
}

/* ---- intervals ---- */

static void conns_compare_add_block(struct block *to, const struct block *from)
{
	to->known_ns += from->known_ns;
	to->all_ns += from->all_ns;
	for (int i = 0; i < MEASURES; i++)
		to->of[i] += from->of[i];
}

/* Merges blocks in pairs: each block then holds twice as many intervals. */
static void conns_compare_join_blocks(struct conns_run *run)
{
	run->together *= 2;
	for (int end = 0; end < LIMITS_ENDS; end++) {
		struct block *blocks = run->blocks[end];

		for (int i = 0; i < CONTRAST_BLOCKS / 2; i++) {
			blocks[i] = blocks[2 * i];
			conns_compare_add_block(&blocks[i], &blocks[2 * i + 1]);
		}
		memset(blocks + CONTRAST_BLOCKS / 2, 0, CONTRAST_BLOCKS / 2 * sizeof(*blocks));
	}
}

/*
 * Sets the block's times from a record: each sample adds the time that it stands for, not a share
 * of the interval. Intervals without samples add no such time, so that the sum over intervals is
 * unbiased (Horvitz and Thompson 1952). Shares are of the sum of these times and not of the time
 * that is known, so that all shares sum to 1 (Hajek 1971).
 */
static void conns_compare_put_times(struct block *b, const struct event_conn *e)
{
	struct event_conn exact = *e;

	if (!e->samples || conn_is_weighted(e)) {
		memset(exact.sampled, 0, sizeof(exact.sampled));
		memset(exact.sampled_ns, 0, sizeof(exact.sampled_ns));
		if (e->samples) /* compute the times again, now without samples */
			conn_times(&exact);
		exact.send_buffer_ns += e->sampled_ns[CONN_AT_SEND_BUFFER];
		exact.delayed_ack_ns += e->sampled_ns[CONN_AT_DELAYED_ACK];
		exact.congestion_ns += e->sampled_ns[CONN_AT_CWND];
		exact.sender_app_ns += e->sampled_ns[CONN_AT_NAGLE] +
				       e->sampled_ns[CONN_AT_FLIGHT];
	}
	for (unsigned int i = 0; i < WORDS_TIMES; i++) {
		b->of[i] = (double)words_time(&exact, i);
		b->known_ns += b->of[i];
	}
}

static struct block conns_compare_block(const struct event_conn *e)
{
	struct block b = { .all_ns = (double)(e->to - e->from) };
	const struct counter *counter = NULL;

	conns_compare_put_times(&b, e);
	for (size_t i = WORDS_TIMES; (counter = counter_next(counter, COUNTER_OF_EVENTS)); i++)
		b.of[i] = counter_is_known(counter, e) ? (double)counter_value(counter, e) : 0;
	return b;
}

static void conns_compare_add_interval(struct conns_run *run)
{
	const struct conns_options *o = &run->options;
	struct conn_view_buf room;
	uint64_t at;

	if (run->intervals / run->together == CONTRAST_BLOCKS)
		conns_compare_join_blocks(run);
	at = run->intervals++ / run->together;
	vec_for_each(&run->conns->interval_records, record) {
		struct block b;

		if (!conns_view(run->conns, CONNS_INTERVAL, record->conn, &room) ||
		    (o->select && !o->select(&room.view, o->ctx)))
			continue;
		b = conns_compare_block(room.view.c);
		conns_compare_add_block(&run->blocks[limits_end_of(&room.view)][at], &b);
	}
}

int conns_run_feed(struct conns_run *run, const struct event_block *block)
{
	size_t at = 0;
	int err;

	while ((err = conns_feed_block(run->conns, block, &at)) == CONNS_CLOSED)
		conns_compare_add_interval(run);
	return err;
}

int conns_run_finish(struct conns_run *run, const struct event_damage *damage)
{
	conns_set_damage(run->conns, damage);
	return limits_finish(&run->limits);
}

bool conns_run_any(const struct conns_run *run)
{
	return run->limits.ends[LIMITS_SERVER].connections ||
	       run->limits.ends[LIMITS_CLIENT].connections;
}

uint64_t conns_run_duration_ns(const struct conns_run *run)
{
	const struct conns_period *p = &run->conns->periods[CONNS_TOTAL];

	return p->to_ns - p->from_ns;
}

/* ---- comparing ---- */

struct side {
	bool known;
	double value;                     /* a share of time, or events per second per connection */
	double blocks[CONTRAST_BLOCKS];   /* values of single blocks; their mean is `value` */
	size_t n;
};

/* A measure of both sides; of several recordings, the mean of those that know it. */
struct measured {
	struct measured_side {
		bool known;
		double value;
	} a, b;
	struct difference d;
};

static bool conns_compare_is_share(unsigned int measure)
{
	return measure < WORDS_TIMES;
}

/* Returns the counter of a measure that is no share of time. */
static const struct counter *conns_compare_counter(unsigned int measure)
{
	const struct counter *counter = NULL;

	for (unsigned int i = WORDS_TIMES; i <= measure; i++)
		counter = counter_next(counter, COUNTER_OF_EVENTS);
	return counter;
}

static bool conns_compare_is_known(const struct conn_aggregate *sum, unsigned int measure)
{
	if (!sum->connections)
		return false;
	return conns_compare_is_share(measure) ? conn_knows(&sum->sum, CONN_KNOWS_TIMES) :
				   counter_is_known(conns_compare_counter(measure), &sum->sum);
}

/*
 * Fills in the ratio of two sums, and the ratio plus the residual of each block, relative to the
 * mean denominator: the residuals determine the ratio's error (Cochran 1977, 6.3).
 */
static void conns_compare_fill_side(const struct conns_run *run, unsigned int end,
				    unsigned int measure, struct side *out)
{
	const struct block *blocks = run->blocks[end];
	const double unit = conns_compare_is_share(measure) ? 1 : (double)NS_PER_S;
	double sum = 0, over = 0;

	*out = (struct side){ .n = (run->intervals + run->together - 1) / run->together };
	for (size_t i = 0; i < out->n; i++) {
		sum += blocks[i].of[measure] * unit;
		over += conns_compare_is_share(measure) ? blocks[i].known_ns : blocks[i].all_ns;
	}
	out->known = conns_compare_is_known(&run->limits.ends[end], measure) && over > 0;
	if (!out->known)
		return;
	out->value = sum / over;
	for (size_t i = 0; i < out->n; i++) {
		const double base =
			conns_compare_is_share(measure) ? blocks[i].known_ns : blocks[i].all_ns;

		out->blocks[i] = out->value + (blocks[i].of[measure] * unit - out->value * base) *
				 (double)out->n / over;
	}
}

/*
 * Fills in the values of a measure in each run of a side, in `room`, and their blocks. Returns
 * their mean.
 */
static struct measured_side conns_compare_sum_side(const struct conns_side *side, unsigned int row,
						   struct side *room,
						   struct difference_blocks *blocks)
{
	struct measured_side sum = { 0 };
	size_t known = 0;

	for (size_t i = 0; i < side->n; i++) {
		conns_compare_fill_side(side->runs[i], row / MEASURES, row % MEASURES, &room[i]);
		blocks[i] = (struct difference_blocks){ room[i].blocks,
							room[i].known ? room[i].n : 0 };
		known += room[i].known;
		sum.value += room[i].value;
	}
	sum.known = known;
	sum.value /= known ? (double)known : 1;
	return sum;
}

/*
 * Stores the difference between the sides and tests it; a measure that is 0 in both needs no test.
 */
static int conns_compare_row(const struct conns_side *a, const struct conns_side *b,
			     unsigned int at, struct side *room, struct measured *row)
{
	struct difference_blocks blocks_a[DIFFERENCE_RECORDINGS_MAX],
				 blocks_b[DIFFERENCE_RECORDINGS_MAX];
	int err = 0;

	row->a = conns_compare_sum_side(a, at, room, blocks_a);
	row->b = conns_compare_sum_side(b, at, room + a->n, blocks_b);
	if (!row->a.known || !row->b.known)
		return 0;
	if (row->a.value > 0 || row->b.value > 0)
		err = difference_means(blocks_a, a->n, blocks_b, b->n, &row->d);
	row->d.c.difference = row->b.value - row->a.value;
	difference_set_small(&row->d, row->a.value, row->b.value);
	return err == -ENOMEM ? err : 0;
}

static int conns_compare_all(const struct conns_side *a, const struct conns_side *b,
			     struct measured *rows, struct difference_tally *tally)
{
	struct side *room = calloc(a->n + b->n, sizeof(*room));
	struct difference *list[ROWS];
	int err = room ? 0 : -ENOMEM;

	for (unsigned int i = 0; !err && i < ROWS; i++) {
		err = conns_compare_row(a, b, i, room, &rows[i]);
		list[i] = &rows[i].d;
	}
	free(room);
	return err ? err : difference_judge(list, ROWS, tally);
}

/* ---- report ---- */

static const char *conns_compare_name(unsigned int measure)
{
	return conns_compare_is_share(measure) ? words_time_name(measure)
					       : conns_compare_counter(measure)->name;
}

/* Returns "12 %" or "0.25/s"; with `sign`, a difference: signed, shares in percentage points. */
static const char *conns_compare_human(struct report *r, unsigned int measure, double value,
				       bool sign)
{
	const char *signs = value < 0 ? "-" : sign && value > 0 ? "+" : "";
	char buf[HUMAN_MAX];

	if (conns_compare_is_share(measure))
		return report_format(r, "%s%s%s", signs, human_fraction(buf, fabs(value)),
				     sign ? "-points" : "");
	return report_format(r, "%s%s/s", signs, human_rate(buf, fabs(value)));
}

static const struct column columns[] = {
	{ "end", NULL, 0, 0 }, { "what", NULL, 0, 0 }, { "unit", NULL, 0, 0 },
	{ "a", NULL, 0, 0 }, { "b", NULL, 0, 0 }, { "difference", NULL, 0, 0 },
	{ "lo", NULL, 0, 0 }, { "hi", NULL, 0, 0 }, { "p_value", NULL, 0, 0 },
	{ "adjusted_p", NULL, 0, 0 }, { "significant", NULL, 0, 0 }, { "why", NULL, 0, 0 },
};

static const struct column text_columns[] = {
	{ NULL, "end", 0, 0 }, { NULL, "limit", 0, 0 }, { NULL, "A", 0, 0 }, { NULL, "B", 0, 0 },
	{ NULL, "change", 0, 0 }, { NULL, "95 % interval", COLUMN_FLEX, 0 },
	{ NULL, "adjusted p", 0, 0 }, { NULL, "differs", 0, 0 },
};

static void conns_compare_add_json(const struct measured *row, unsigned int i, struct table *t)
{
	const struct contrast *c = &row->d.c;
	const bool both = row->a.known && row->b.known;

	TABLE_ADD(t, value_string(limits_end_name(i / MEASURES)),
		  value_string(conns_compare_name(i % MEASURES)),
		  value_string(conns_compare_is_share(i % MEASURES) ? "share" : "per-second"),
		  row->a.known ? value_number(row->a.value) : value_null(),
		  row->b.known ? value_number(row->b.value) : value_null(),
		  both ? value_number(c->difference) : value_null(),
		  c->bounded ? value_number(c->lo) : value_null(),
		  c->bounded ? value_number(c->hi) : value_null(), difference_p(&row->d),
		  difference_adjusted(&row->d), difference_significant(&row->d),
		  difference_why(&row->d));
}

/* Adds a measure's row to the text table, unless the measure is 0 in both runs. */
static void conns_compare_add_text(const struct measured *row, unsigned int i, struct table *t,
				   struct report *r)
{
	const struct contrast *c = &row->d.c;
	const unsigned int m = i % MEASURES;
	const bool both = row->a.known && row->b.known;

	if (row->a.value <= 0 && row->b.value <= 0)
		return;
	TABLE_ADD(
		t, value_string(limits_end_name(i / MEASURES)), value_string(conns_compare_name(m)),
		row->a.known ? value_string(conns_compare_human(r, m, row->a.value, false))
			     : value_null(),
		row->b.known ? value_string(conns_compare_human(r, m, row->b.value, false))
			     : value_null(),
		both ? value_string(conns_compare_human(r, m, c->difference, true)) : value_null(),
		c->bounded ? value_string(report_format(r, "%s to %s",
							conns_compare_human(r, m, c->lo, true),
							conns_compare_human(r, m, c->hi, true)))
			   : value_null(),
		difference_adjusted(&row->d), difference_differs(&row->d));
}

/* Returns a side in numbers; of several recordings only their length is known together. */
static struct value conns_compare_side_value(const struct conns_side *side, struct report *r)
{
	struct object *o = object_new(r);
	uint64_t duration = 0;

	for (size_t i = 0; i < side->n; i++)
		duration += conns_run_duration_ns(side->runs[i]);
	object_add(o, "duration_ns", value_ns(duration));
	object_add(o, "ends", side->n == 1 ? limits_ends(&side->runs[0]->limits, r) : value_null());
	return value_object(o);
}

static void conns_compare_add_tables(const struct conns_side *a, const struct conns_side *b,
				     const struct measured *rows, struct report *r)
{
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct table *text = table_new(r, text_columns, ARRAY_LEN(text_columns));
	struct object *o = object_new(r);

	for (unsigned int i = 0; i < ROWS; i++) {
		conns_compare_add_json(&rows[i], i, t);
		conns_compare_add_text(&rows[i], i, text, r);
	}
	object_add(o, "a", conns_compare_side_value(a, r));
	object_add(o, "b", conns_compare_side_value(b, r));
	object_add(o, "rows", value_table(t));
	object_add(&r->body, "limits", value_object(o));
	if (text)
		text->head = "connections: share of time per limit; events per second per "
			     "connection";
	object_add(&r->body, NULL, value_table(text));
}

/* Returns whether `a` ranks above `b`: limits come before sender-app, then the larger change. */
static bool conns_compare_is_greater(const struct measured *a, unsigned int measure_a,
				     const struct measured *b, unsigned int measure_b)
{
	if (!measure_a != !measure_b) /* measure 0, sender-app, comes last: it is no limit */
		return measure_a;
	return fabs(a->d.c.difference) > fabs(b->d.c.difference);
}

/* Reports the limit whose share of time changed most, of those that changed significantly. */
static void conns_compare_add_finding(const struct measured *rows, struct report *r)
{
	const struct measured *best = NULL;
	bool tested = false, small = false;

	for (unsigned int i = 0; i < ROWS; i++) {
		tested |= conns_compare_is_share(i % MEASURES) && rows[i].d.c.tested;
		small |= conns_compare_is_share(i % MEASURES) &&
			 difference_is_too_little(&rows[i].d);
		if (conns_compare_is_share(i % MEASURES) && rows[i].d.c.tested &&
		    rows[i].d.significant &&
		    (!best || conns_compare_is_greater(&rows[i], i % MEASURES, best,
						       (unsigned int)(best - rows) % MEASURES)))
			best = &rows[i];
	}
	if (best) {
		const unsigned int i = (unsigned int)(best - rows);

		report_finding(r, "Connections of the %s: the share of the time limited by %s %s "
			       "from %s to %s.",
			       limits_end_name(i / MEASURES), conns_compare_name(i % MEASURES),
			       best->d.c.difference < 0 ? "fell" : "rose",
			       conns_compare_human(r, 0, best->a.value, false),
			       conns_compare_human(r, 0, best->b.value, false));
	} else if (tested) {
		report_finding(r, small ? "What limits the connections has no difference that "
					  "matters." :
					  "What limits the connections does not differ by more "
					  "than chance.");
	}
}

/* Reports limits that are unknown in all recordings of one side and known in the other. */
static void conns_compare_add_unknown(const struct conns_side *side, const struct conns_side *other,
				      const char *which, struct report *r)
{
	for (unsigned int end = 0; end < LIMITS_ENDS; end++) {
		const char *why = NULL;
		bool known = false;

		for (size_t i = 0; i < side->n; i++) {
			why = limits_unknown_reason(&side->runs[i]->limits, end);
			if (!why)
				break;
		}
		for (size_t i = 0; i < other->n; i++)
			known |= !limits_unknown_reason(&other->runs[i]->limits, end);
		if (why && known)
			report_finding(r, "It is unknown what limits the %s's connections in "
				       "recording %s (%s).", limits_end_name(end), which, why);
	}
}

/* Adds the reasons why a run is partial; `alone`: its intervals are what is tested. */
static int conns_compare_add_reasons(struct conns_run *run, const char *which, bool alone,
				     struct report *r)
{
	struct report own;
	int err;

	report_init(&own, &r->provenance);
	err = conns_report(run->conns, CONNS_TOTAL, &own);
	if (!err)
		difference_add_reasons(r, &own, which);
	report_release(&own);
	if (alone && run->intervals / run->together < CONTRAST_BLOCKS_MIN)
		report_reason(r, "too-few-intervals", NULL, "%s has too few intervals for a "
			      "significance test of its connections (at least %d are needed)",
			      which, CONTRAST_BLOCKS_MIN);
	return err;
}

int conns_compare_report(const struct conns_side *a, const struct conns_side *b, struct report *r,
			 struct difference_tally *tally)
{
	struct measured *rows = calloc(ROWS, sizeof(*rows));
	const bool alone = a->n == 1 && b->n == 1;
	int err = rows ? conns_compare_all(a, b, rows, tally) : -ENOMEM;

	if (!err) {
		conns_compare_add_tables(a, b, rows, r);
		conns_compare_add_finding(rows, r);
		conns_compare_add_unknown(a, b, "A", r);
		conns_compare_add_unknown(b, a, "B", r);
	}
	for (size_t i = 0; !err && i < a->n; i++)
		err = conns_compare_add_reasons(a->runs[i], "A", alone, r);
	for (size_t i = 0; !err && i < b->n; i++)
		err = conns_compare_add_reasons(b->runs[i], "B", alone, r);
	free(rows);
	return err ? err : report_error(r);
}
