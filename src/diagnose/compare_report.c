/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the differences between the messages of two recordings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"
#include "diagnose/compare.h"
#include "diagnose/compare_state.h"
#include "report/human.h"

/* Largest number of causes for which a finding is reported. */
#define CAUSE_FINDINGS_MAX 3u

/* A change of less than 1 / MINOR of the greatest change gets no finding; it is in the table. */
#define MINOR 20u

/* A cause below 1 / GONE of its former time is reported as gone. */
#define GONE 100

static const struct compared_side *compare_side(const struct comparison *c, int which)
{
	return &c->sides[which];
}

static bool compare_has_both(const struct comparison *c)
{
	return compare_side(c, 0)->messages && compare_side(c, 1)->messages;
}

/* ---- causes ---- */

struct ordered {
	unsigned int place;
	uint64_t change;
};

static int compare_order_by_change(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	return sort_order(y->change, x->change) ?: sort_order(x->place, y->place);
}

/*
 * Collects the causes (by phase) that have time in either recording, greatest change of the mean
 * first. Returns their number.
 */
static size_t compare_order_places(const struct comparison *c, struct ordered *out)
{
	size_t n = 0;

	for (unsigned int place = 0; place < CAUSE_PLACES; place++) {
		const int64_t change =
			compare_side(c, 1)->mean[place] - compare_side(c, 0)->mean[place];

		if (compare_side(c, 0)->total[place] || compare_side(c, 1)->total[place])
			out[n++] = (struct ordered){ place, (uint64_t)llabs(change) };
	}
	qsort(out, n, sizeof(*out), compare_order_by_change);
	return n;
}

/* Returns the culprit with most of a cause's time; NULL: unknown. */
static const struct cause_culprit *compare_top_culprit(const struct compared_side *s,
							unsigned int place)
{
	const struct cause_culprits *culprits = &compare_longest(s, place)->culprits[place];

	return culprits->all.len && s->mean[place] ? culprits->all.items : NULL;
}

/*
 * Returns the main culprit of a cause: a command, e.g. "nginx" or "gzip (6 processes)", or else the
 * kind of work, e.g. "softirq timer"; "" if unknown. A single pid says nothing of the other run.
 */
static const char *compare_culprit_name(const struct compared_side *s, struct report *r,
					unsigned int place)
{
	const struct cause_culprits *culprits = &compare_longest(s, place)->culprits[place];
	const struct cause_culprit *top = compare_top_culprit(s, place);

	if (!top)
		return "";
	return top->processes > 1 ? culprit_name(culprits, r, top) :
				    culprit_plain_name(culprits, r, top);
}

static const struct column cause_columns[] = {
	{ "cause", "cause", 0, 0 },
	{ "where", "", 0, 0 },
	{ "kind", NULL, 0, 0 },
	{ "a_ns", "A", 0, 0 },
	{ "b_ns", "B", 0, 0 },
	{ "difference_ns", "change", 0, 0 },
	{ "lo_ns", NULL, 0, 0 },
	{ "hi_ns", NULL, 0, 0 },
	{ NULL, "95 % interval", COLUMN_FLEX, 0 },
	{ "p_value", NULL, 0, 0 },
	{ "adjusted_p", "adjusted p", 0, 0 },
	{ "significant", NULL, 0, 0 },
	{ "why", NULL, 0, 0 },
	{ NULL, "differs", 0, 0 },
	{ NULL, "culprit in A", COLUMN_FLEX | COLUMN_SPARE, 0 },
	{ NULL, "culprit in B", COLUMN_FLEX | COLUMN_SPARE, 0 },
	{ "culprits_a", NULL, 0, 0 },
	{ "culprits_b", NULL, 0, 0 },
};

static void compare_add_cause(const struct comparison *c, struct report *r, struct table *t,
			      unsigned int place)
{
	const struct compared_side *a = compare_side(c, 0), *b = compare_side(c, 1);
	const struct difference *d = &c->places[place];
	const unsigned int cause = place / WHERE_MAX;

	TABLE_ADD(t, value_string(cause_name(cause)),
		  value_string(cause_where_name(place % WHERE_MAX)),
		  value_string(cause_kind(cause)), value_ns((uint64_t)a->mean[place]),
		  value_ns((uint64_t)b->mean[place]), value_sns(b->mean[place] - a->mean[place]),
		  difference_lo(d), difference_hi(d), difference_interval(r, d), difference_p(d),
		  difference_adjusted(d), difference_significant(d), difference_why(d),
		  difference_differs(d),
		  value_string(compare_culprit_name(a, r, place)),
		  value_string(compare_culprit_name(b, r, place)),
		  culprits_table(&compare_longest(a, place)->culprits[place], r,
				 (uint64_t)a->mean[place]),
		  culprits_table(&compare_longest(b, place)->culprits[place], r,
				 (uint64_t)b->mean[place]));
}

static void compare_add_causes(const struct comparison *c, struct report *r)
{
	struct ordered places[CAUSE_PLACES];
	struct table *t;
	size_t n;

	if (!c->causes) {
		object_add(&r->body, "causes", value_null());
		return;
	}
	t = table_new(r, cause_columns, ARRAY_LEN(cause_columns));
	if (t)
		t->head = "mean time of a message in the slice";
	n = compare_order_places(c, places);
	for (size_t i = 0; i < n; i++)
		compare_add_cause(c, r, t, places[i].place);
	object_add(&r->body, "causes", value_table(t));
}

/* ---- the slice ---- */

static struct value compare_mean(const struct compared_side *s)
{
	return s->targets ? value_ns((uint64_t)s->mean[COMPARE_LATENCY]) : value_null();
}

static void compare_add_slice(const struct comparison *c, struct report *r)
{
	const struct compared_side *a = compare_side(c, 0), *b = compare_side(c, 1);
	const struct difference *d = &c->places[COMPARE_LATENCY];
	const struct message_selection *s = &c->selection;
	struct object *o = object_new(r);

	object_add(o, "from", s->slowest ? value_null() : value_fraction(s->from));
	object_add(o, "to", s->slowest ? value_null() : value_fraction(s->to));
	object_add(o, "slowest", s->slowest ? value_u64(s->slowest) : value_null());
	object_add(o, "messages_a", value_u64(a->targets));
	object_add(o, "messages_b", value_u64(b->targets));
	object_add(o, "a_ns", compare_mean(a));
	object_add(o, "b_ns", compare_mean(b));
	object_add(o, "difference_ns", compare_has_both(c) ? value_sns(b->mean[COMPARE_LATENCY] -
								       a->mean[COMPARE_LATENCY]) :
						 value_null());
	object_add(o, "lo_ns", difference_lo(d));
	object_add(o, "hi_ns", difference_hi(d));
	object_add(o, "p_value", difference_p(d));
	object_add(o, "significant", difference_significant(d));
	object_add(o, "why", difference_why(d));
	object_add(o, "effective_a", value_number(a->effective));
	object_add(o, "effective_b", value_number(b->effective));
	object_add(o, "blocks_a", value_u64(a->n_blocks));
	object_add(o, "blocks_b", value_u64(b->n_blocks));
	object_add(o, "partition_error_ns", value_ns(a->error > b->error ? a->error : b->error));
	object_add(&r->body, "slice", value_object(o));
}

/* ---- applications ---- */

#define APPLICATIONS_MAX 1024u

struct application {
	const char *comm;
	uint64_t messages[2];
};

struct applications VEC_OF(struct application);

static int compare_count_application(struct applications *all, const char *comm, int which)
{
	struct application fresh = { .comm = comm };

	vec_for_each(all, one) {
		if (!strcmp(one->comm, comm)) {
			one->messages[which]++;
			return 0;
		}
	}
	fresh.messages[which] = 1;
	return vec_push(all, fresh) == -ENOMEM ? -ENOMEM : 0;
}

static int compare_order_by_messages(const void *a, const void *b)
{
	const struct application *x = a, *y = b;
	const uint64_t m = x->messages[0] + x->messages[1], n = y->messages[0] + y->messages[1];

	return m != n ? (m > n ? -1 : 1) : strcmp(x->comm, y->comm);
}

static int compare_count_recording(const struct recorded *rec, struct applications *all, int which)
{
	int err = 0;

	vec_for_each(&rec->messages.all, m) {
		const uint32_t task = tasks_by_tid(&rec->tasks, m->tid);

		err = compare_count_application(all, tasks_get(&rec->tasks, task)->comm, which);
		if (err)
			return err;
	}
	return 0;
}

static int compare_count_applications(const struct comparison *c, struct applications *all)
{
	int err = 0;

	vec_init(all, APPLICATIONS_MAX);
	for (int which = 0; which < 2; which++) {
		const struct compared_side *side = compare_side(c, which);

		for (size_t i = 0; !err && i < side->n; i++)
			err = compare_count_recording(&side->recordings[i]->rec, all, which);
	}
	if (!err && all->len)
		qsort(all->items, all->len, sizeof(*all->items), compare_order_by_messages);
	return err;
}

static const struct column application_columns[] = {
	{ "comm", NULL, 0, 0 }, { "messages_a", NULL, 0, 0 }, { "messages_b", NULL, 0, 0 },
};

static int compare_add_applications(const struct comparison *c, struct report *r)
{
	struct table *t = table_new(r, application_columns, ARRAY_LEN(application_columns));
	struct applications all;
	int err = compare_count_applications(c, &all);

	vec_for_each(&all, one)
		TABLE_ADD(t, value_string(*one->comm ? report_format(r, "%s", one->comm) : NULL),
			  value_u64(one->messages[0]), value_u64(one->messages[1]));
	object_add(&r->body, "applications", value_table(t));
	vec_for_each(&all, one)
		if (!one->messages[0] != !one->messages[1] && compare_has_both(c))
			report_finding(r, "Only %s has messages of %s.",
				       one->messages[0] ? "A" : "B",
				       *one->comm ? report_format(r, "%s", one->comm) :
						    "a task without a name");
	vec_release(&all);
	return err;
}

/* ---- findings ---- */

/* Adds a finding, e.g. "cpu-wait (nginx) is gone: from 2.9 ms to 0 ns per message". */
static void compare_add_cause_finding(const struct comparison *c, struct report *r,
				      unsigned int place)
{
	const int64_t a = compare_side(c, 0)->mean[place], b = compare_side(c, 1)->mean[place];
	const struct compared_side *side = compare_side(c, a >= b ? 0 : 1);
	const struct cause_culprit *top = compare_top_culprit(side, place);
	const struct cause_culprits *of = &compare_longest(side, place)->culprits[place];
	const char *culprit = top ? culprit_plain_name(of, r, top) : "";
	char from[HUMAN_MAX], to[HUMAN_MAX];

	report_finding(r, "%s%s%s%s%s%s %s: from %s to %s per message.",
		       cause_name(place / WHERE_MAX),
		       *culprit ? " (" : "", culprit, *culprit ? ")" : "",
		       place % WHERE_MAX == WHERE_APPLICATION ? "" : " in ",
		       place % WHERE_MAX == WHERE_APPLICATION ? ""
							      : cause_where_name(place % WHERE_MAX),
		       b * GONE < a   ? "is gone"
		       : a * GONE < b ? "is new"
		       : b < a	      ? "shrank"
				      : "grew",
		       human_ns(from, (uint64_t)a), human_ns(to, (uint64_t)b));
}

static bool compare_any_tested(const struct comparison *c)
{
	for (int i = 0; i < REPORT_QUANTILES; i++)
		if (c->quantiles[i].d.c.tested)
			return true;
	return false;
}

/* Returns true if a change deserves a finding: significant, and not tiny beside `greatest`. */
static bool compare_is_notable(const struct comparison *c, uint64_t change, uint64_t greatest)
{
	for (int which = 0; which < 2; which++) {
		const struct compared_side *side = compare_side(c, which);

		for (size_t i = 0; i < side->n; i++)
			if (change <= side->recordings[i]->rec.granularity)
				return false;
	}
	return change >= greatest / MINOR;
}

static void compare_add_cause_findings(const struct comparison *c, struct report *r)
{
	struct ordered places[CAUSE_PLACES];
	const size_t n = compare_order_places(c, places);
	unsigned int findings = 0;

	for (size_t i = 0; i < n && findings < CAUSE_FINDINGS_MAX; i++) {
		if (!c->places[places[i].place].significant ||
		    !compare_is_notable(c, places[i].change, places[0].change))
			continue;
		compare_add_cause_finding(c, r, places[i].place);
		findings++;
	}
	if (!findings && c->places[COMPARE_LATENCY].c.tested)
		report_finding(r, "No cause differs by more than chance and the "
			       "measurement's resolution.");
}

static void compare_add_findings(const struct comparison *c, struct report *r)
{
	difference_add_findings(r, "messages", c->quantiles);
	if (c->causes)
		compare_add_cause_findings(c, r);
}

static const char *compare_letter(int which)
{
	return which ? "B" : "A";
}

/* Adds reasons why two recordings, one of each side, say little. */
static void compare_add_size_reasons(const struct comparison *c, struct report *r)
{
	bool few = false;

	for (int which = 0; which < 2; which++)
		if (compare_side(c, which)->n_blocks < CONTRAST_BLOCKS_MIN) {
			few = true;
			report_reason(r, "too-few-messages", NULL, "%s has too few messages to "
				      "test for a difference (%u are needed)",
				      compare_letter(which),
				      CONTRAST_BLOCK_VALUES * CONTRAST_BLOCKS_MIN);
		}
	for (int which = 0; which < 2; which++) {
		const struct compared_side *side = compare_side(c, which);

		if (side->n_blocks < CONTRAST_BLOCKS_MIN ||
		    comparison_slice_suffices(side->recordings[0]))
			continue;
		few = true;
		report_reason(r, "slice-too-small",
			      report_format(r, "%llu messages, worth %.3g",
					    (unsigned long long)side->targets, side->effective),
			      "the slice of %s has too few independent messages to compare causes "
			      "(%d are needed)", compare_letter(which), CONTRAST_EFFECTIVE_MIN);
	}
	if (!few && !compare_any_tested(c))
		report_reason(r, "dependent", NULL, "the latencies are correlated for so long that "
			      "no difference can be tested: record longer");
}

static void compare_add_reasons(const struct comparison *c, struct report *r)
{
	for (int which = 0; which < 2; which++) {
		const struct compared_side *side = compare_side(c, which);

		for (size_t i = 0; i < side->n; i++)
			report_source_reasons(&side->recordings[i]->rec, r, compare_letter(which));
	}
	if (compare_has_both(c) && compare_side(c, 0)->n == 1 && compare_side(c, 1)->n == 1)
		compare_add_size_reasons(c, r);
}

int comparison_report(const struct comparison *c, struct report *r, struct difference_tally *tally)
{
	struct value curve;
	int err = difference_curve(&c->sides[0].latency, &c->sides[1].latency, r, &curve);

	if (err)
		return err;
	tally->tested += c->tally.tested;
	tally->significant += c->tally.significant;
	object_add(&r->body, "quantiles", difference_table(r, c->quantiles));
	object_add(&r->body, "curve", curve);
	compare_add_slice(c, r);
	compare_add_causes(c, r);
	if (compare_has_both(c))
		compare_add_findings(c, r);
	compare_add_only_commands(c, r);
	err = compare_add_applications(c, r);
	compare_add_reasons(c, r);
	return err ? err : report_error(r);
}
