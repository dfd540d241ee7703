/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the causes over all targets (messages to explain), and the culprits of each cause. */
#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/sort.h"
#include "diagnose/culprits.h"
#include "diagnose/sections.h"
#include "report/human.h"

/* ---- table row of one cause ---- */

struct row_of {
	unsigned int place;
	uint64_t total, messages;
	uint64_t *values;          /* excess of each message that has the cause, in ns */
	struct cause_culprits culprits;  /* culprits of the excess of all messages */
};

struct excess_total excess_total(const struct excess_list *excesses)
{
	struct excess_total excess = { 0 };

	vec_for_each(excesses, j) {
		excess.found += j->found;
		excess.less += (uint64_t)-j->offset;
		for (unsigned int w = 0; w < WHERE_MAX; w++)
			excess.rest += j->ns[CAUSE_PLACE(CAUSE_NOT_RECORDED, w)] +
				       j->ns[CAUSE_PLACE(CAUSE_UNEXPLAINED, w)];
	}
	return excess;
}

static int causes_gather(const struct population *p, struct row_of *row)
{
	int err = 0;

	row->values = calloc(p->excesses->len + 1, sizeof(*row->values));
	culprits_init(&row->culprits, p->rec, row->place / WHERE_MAX);
	if (p->requests)
		row->culprits.noun = "request";
	if (!row->values)
		return -ENOMEM;
	vec_for_each(p->excesses, j) {
		const uint64_t ns = j->ns[row->place];

		if (!ns || err)
			continue;
		row->values[row->messages++] = ns;
		row->total += ns;
		err = culprits_add_message(&row->culprits, &p->breakdowns[j->subject],
					   row->place, 1, ns);
	}
	if (row->messages)
		excess_median(row->values, row->messages); /* sorts `values` */
	return err ? err : culprits_finish(&row->culprits);
}

static uint64_t causes_quantile(const struct row_of *row, unsigned int percent)
{
	return row->values[(row->messages - 1) * percent / 100];
}

static void causes_release_rows(struct row_of *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rows[i].values);
		culprits_release(&rows[i].culprits);
	}
}

static int causes_order_by_total(const void *a, const void *b)
{
	const struct row_of *x = a, *y = b;

	return sort_order(y->total, x->total) ?: sort_order(x->place, y->place);
}

/*
 * Returns the culprit that is behind all of a cause: in each of its messages, with nearly all its
 * time. NULL: there is no such culprit. Behind another message is the reader.
 */
static const struct cause_culprit *causes_sole_culprit(const struct row_of *row)
{
	const struct cause_culprits *c = &row->culprits;
	const struct cause_culprit *top = c->all.len ? c->all.items : NULL;

	return top && row->place / WHERE_MAX != CAUSE_HEAD_OF_LINE &&
	       top->messages == row->messages && culprit_is_sole(c, top) ? top : NULL;
}

/*
 * Returns a cause, with its culprit if there is only one, since the cause's numbers are then the
 * culprit's: "waited for a CPU: nginx (4690)".
 */
static const char *causes_phrase(struct report *r, const struct row_of *row)
{
	const char *words = cause_phrase(row->place / WHERE_MAX);
	const struct cause_culprit *sole = causes_sole_culprit(row);
	const char *name = sole ? culprit_name(&row->culprits, r, sole) : "";

	return *name ? report_format(r, "%s: %s", words, name) : words;
}

/* Returns true for time of requests without a side: no stamp divides it, or it is the noise. */
static bool causes_has_no_side(const struct population *p, unsigned int place)
{
	return p->requests && place == CAUSE_PLACE(CAUSE_UNEXPLAINED, WHERE_NETWORK);
}

static const struct column cause_columns[] = {
	{ NULL, "", COLUMN_FLEX, 0 },
	{ "cause", NULL, 0, 0 },
	{ "where", "", 0, 0 },
	{ "kind", NULL, 0, 0 },
	{ "messages", "messages", 0, 0 },
	{ "total_ns", NULL, 0, 0 },
	{ "share", "of the excess", 0, 0 },
	{ "median_ns", "median", 0, 0 },
	{ "p25_ns", NULL, 0, 0 },
	{ "p75_ns", NULL, 0, 0 },
	{ "max_ns", "max", 0, 0 },
	{ "culprits", NULL, 0, 0 },
	{ "culprits_omitted", NULL, 0, 0 },
};

static void causes_add_row(const struct population *p, struct report *r, struct table *t,
			   const struct row_of *row, const struct excess_total *excess)
{
	const unsigned int cause = row->place / WHERE_MAX;
	const size_t n = row->culprits.all.len;
	const uint64_t all = excess->found + excess->rest;

	TABLE_ADD(t, value_string(causes_phrase(r, row)), value_string(cause_name(cause)),
		  value_string(causes_has_no_side(p, row->place) ?
			       NULL : cause_where_name(row->place % WHERE_MAX)),
		  value_string(cause_kind(cause)), value_u64(row->messages),
		  value_ns(row->total),
		  all ? value_fraction((double)row->total / (double)all) : value_null(),
		  value_ns(causes_quantile(row, 50)), value_ns(causes_quantile(row, 25)),
		  value_ns(causes_quantile(row, 75)), value_ns(row->values[row->messages - 1]),
		  culprits_table(&row->culprits, r, row->total),
		  value_u64(n > CULPRITS_SHOWN ? n - CULPRITS_SHOWN : 0));
}

/* ---- culprits of the largest causes ---- */

/*
 * Limits of findings about causes: their largest number, and the least share of the excess that a
 * cause must have.
 */
#define FINDINGS_MAX	  3
#define FINDING_SHARE_MIN 0.05

/*
 * Largest number of culprits in a sentence, and the least share of the cause's time of all but the
 * first.
 */
#define CULPRITS_IN_SENTENCE 3
#define CULPRIT_SHARE_MIN    0.05
/* Least share of the cause's time for which other culprits are mentioned. */
#define OTHERS_SHARE_MIN     0.01

static bool causes_is_notable(const struct row_of *row, const struct excess_total *excess)
{
	return row->messages &&
	       (double)row->total >= FINDING_SHARE_MIN * (double)(excess->found + excess->rest);
}

/* Returns whether a cause has culprits to be listed with numbers of their own. */
static bool causes_has_list(const struct row_of *row)
{
	return row->place / WHERE_MAX != CAUSE_HEAD_OF_LINE && row->culprits.ns &&
	       !causes_sole_culprit(row);
}

/* Returns the first culprits, each with its own numbers, as a sentence; "" if none has a name. */
static const char *causes_culprits_sentence(struct report *r, const struct row_of *row)
{
	const struct cause_culprits *c = &row->culprits;
	const char *list = "", *lead = row->place / WHERE_MAX == CAUSE_CPU_WAIT ?
						" CPU held by: " : " Behind it: ";
	uint64_t rest = c->ns;
	char buf[HUMAN_MAX];
	unsigned int n = 0;

	vec_for_each(&c->all, one) {
		const char *phrase = culprit_phrase(c, r, one);

		if (n == CULPRITS_IN_SENTENCE ||
		    (n && (double)one->ns < CULPRIT_SHARE_MIN * (double)c->ns))
			break;
		if (!*phrase)
			continue;
		list = report_format(r, "%s%s%s", n ? list : lead, n ? ", " : "", phrase);
		rest -= one->ns;
		n++;
	}
	if (!n)
		return "";
	if ((double)rest < OTHERS_SHARE_MIN * (double)c->ns)
		return report_format(r, "%s.", list);
	return report_format(r, "%s, others %s.", list,
			     human_fraction(buf, (double)rest / (double)c->ns));
}

/* Returns of whom a finding is: "the slow messages' excess", or that of requests by their side. */
static const char *causes_subject(const struct population *p, unsigned int place)
{
	const unsigned int where = place % WHERE_MAX;

	if (!p->requests)
		return "the slow messages' excess";
	if (causes_has_no_side(p, place))
		return "the slow requests' extra time";
	return where == WHERE_CLIENT ? "the slow requests' extra time, in the client" :
	       where == WHERE_NETWORK ? "the slow requests' extra time, in the network" :
					"the slow requests' extra time, in the server";
}

static void causes_add_finding(const struct population *p, struct report *r,
			       const struct row_of *row, const struct excess_total *excess)
{
	const uint64_t all = excess->found + excess->rest;
	const struct cause_culprit *sole = causes_sole_culprit(row);
	char count[HUMAN_MAX], share[HUMAN_MAX], median[HUMAN_MAX];

	if (!causes_is_notable(row, excess))
		return;
	report_finding(r, "%s of %s: %s in %s of them, %s at the median.%s%s",
		       human_fraction(share, (double)row->total / (double)all),
		       causes_subject(p, row->place),
		       causes_phrase(r, row), human_count(count, row->messages),
		       human_ns(median, sole ? sole->median_ns : causes_quantile(row, 50)),
		       causes_has_list(row) ? causes_culprits_sentence(r, row) : "",
		       report_without_sentence(r, p->without, row->place));
}

/* Text only: JSON has the culprits in the rows of the causes. */
static const struct column culprit_columns[] = {
	{ NULL, "culprit", COLUMN_FLEX, 0 }, { NULL, "of", 0, 0 },
	{ NULL, "messages", 0, 0 },	     { NULL, "of its time", 0, 0 },
	{ NULL, "median", 0, 0 },
};

static void causes_add_culprits(struct report *r, struct table *t, const struct row_of *row)
{
	const struct cause_culprits *c = &row->culprits;

	for (size_t i = 0; i < c->all.len && i < CULPRITS_SHOWN; i++) {
		const struct cause_culprit *one = &c->all.items[i];
		const char *name = culprit_name(c, r, one);

		if (*name)
			TABLE_ADD(t, value_string(name),
				  value_string(cause_name(row->place / WHERE_MAX)),
				  value_u64(one->messages),
				  value_fraction((double)one->ns / (double)c->ns),
				  value_ns(one->median_ns));
	}
}

/* Adds the culprits of the causes that findings name and that have several. */
static void causes_add_culprits_table(struct report *r, const struct row_of *rows,
				      const struct excess_total *excess)
{
	struct table *t = table_new(r, culprit_columns, ARRAY_LEN(culprit_columns));

	for (unsigned int i = 0; i < FINDINGS_MAX; i++)
		if (causes_is_notable(&rows[i], excess) && causes_has_list(&rows[i]))
			causes_add_culprits(r, t, &rows[i]);
	if (t && t->nrows)
		object_add(&r->body, NULL, value_table(t));
}

int report_causes(const struct population *p, struct report *r, struct object *o)
{
	struct table *t = table_new(r, cause_columns, ARRAY_LEN(cause_columns));
	const struct excess_total excess = excess_total(p->excesses);
	struct row_of rows[CAUSE_PLACES] = { 0 };
	int err = 0;

	for (unsigned int place = 0; place < CAUSE_PLACES && !err; place++) {
		rows[place].place = place;
		err = causes_gather(p, &rows[place]);
	}
	qsort(rows, CAUSE_PLACES, sizeof(*rows), causes_order_by_total);
	for (unsigned int i = 0; i < CAUSE_PLACES && !err && rows[i].messages; i++)
		causes_add_row(p, r, t, &rows[i], &excess);
	object_add(o, "causes", value_table(t));
	if (!err && !p->requests)
		causes_add_culprits_table(r, rows, &excess);
	for (unsigned int i = 0; i < FINDINGS_MAX && !err && p->findings; i++)
		causes_add_finding(p, r, &rows[i], &excess);
	causes_release_rows(rows, CAUSE_PLACES);
	return err;
}
