/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the causes over all targets (messages to explain), and the culprits of each cause. */
#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/sort.h"
#include "diagnose/sections.h"
#include "diagnose/words.h"
#include "report/human.h"

/* ---- culprits ---- */

static int causes_order_by_key(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return sort_order(x->culprit, y->culprit) ?: sort_order(x->message, y->message) ?:
	       sort_order(x->detail, y->detail);
}

static int causes_order_by_size(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return causes_order_by_key(a, b);
}

static bool causes_same_culprit(const struct share *a, const struct share *b)
{
	return a->culprit == b->culprit && a->message == b->message && a->detail == b->detail;
}

void causes_merge_shares(struct shares *shares, uint64_t total)
{
	unsigned __int128 sum = 0;
	size_t n = 0;

	if (!shares->len)
		return;
	qsort(shares->items, shares->len, sizeof(*shares->items), causes_order_by_key);
	for (size_t i = 0; i < shares->len; i++) {
		sum += shares->items[i].ns;
		if (n && causes_same_culprit(&shares->items[n - 1], &shares->items[i]))
			shares->items[n - 1].ns += shares->items[i].ns;
		else
			shares->items[n++] = shares->items[i];
	}
	shares->len = n;
	for (size_t i = 0; i < n && sum; i++)
		shares->items[i].ns = (uint64_t)((unsigned __int128)shares->items[i].ns * total /
						 sum);
	qsort(shares->items, n, sizeof(*shares->items), causes_order_by_size);
}

const char *causes_culprit_name(const struct recorded *rec, struct report *r, uint32_t task)
{
	const struct task_name *t = tasks_get(&rec->tasks, task);

	return t->tid ? report_format(r, "%s (%u)", t->comm, t->tid) : "";
}

static const struct column culprit_columns[] = {
	{ "pid", NULL, 0, 0 },     { "tid", NULL, 0, 0 },  { "comm", NULL, 0, 0 },
	{ "message", NULL, 0, 0 }, { "what", NULL, 0, 0 }, { "ns", NULL, 0, 0 },
};

struct value causes_culprits_table(const struct recorded *rec, struct report *r,
				   const struct shares *shares)
{
	struct table *t = table_new(r, culprit_columns, ARRAY_LEN(culprit_columns));

	for (size_t i = 0; i < shares->len && i < CULPRITS_SHOWN; i++) {
		const struct share *s = &shares->items[i];
		const struct task_name *task = tasks_get(&rec->tasks, s->culprit);
		char buf[WORDS_MAX];
		const char *detail = words_detail(buf, rec, s->place / WHERE_MAX, s->detail);

		if (!s->culprit && !s->message && !detail)
			continue;
		TABLE_ADD(t, task->tid ? value_u64(task->pid) : value_null(),
			  task->tid ? value_u64(task->tid) : value_null(),
			  value_string(task->tid ? report_format(r, "%s", task->comm) : NULL),
			  s->message ? value_u64(rec->messages.all.items[s->message - 1].id) :
				       value_null(),
			  value_string(detail ? report_format(r, "%s", detail) : NULL),
			  value_ns(s->ns));
	}
	return value_table(t);
}

/* ---- table row of one cause ---- */

struct row_of {
	unsigned int place;
	uint64_t total, messages;
	uint64_t *values;      /* excess of each message that has the cause, in ns */
	struct shares shares;  /* culprits of all messages, merged */
};

struct excess_total excess_total(const struct diagnosis *d)
{
	struct excess_total excess = { 0 };

	vec_for_each(&d->excesses, j) {
		excess.found += j->found;
		for (unsigned int w = 0; w < WHERE_MAX; w++)
			excess.rest += j->ns[CAUSE_PLACE(CAUSE_NOT_RECORDED, w)] +
				       j->ns[CAUSE_PLACE(CAUSE_UNEXPLAINED, w)];
	}
	return excess;
}

/*
 * Adds a message's time in the row's cause and phase, by culprit, scaled to sum to `deviation`. The
 * delaying messages are left out, since each message has others.
 */
static int causes_add_shares(struct row_of *row, const struct breakdown *breakdown,
			     uint64_t deviation)
{
	struct shares one;
	int err = 0;

	vec_init(&one, breakdown->shares.len + 1);
	vec_for_each(&breakdown->shares, s) {
		struct share share = *s;

		if (err || s->place != row->place)
			continue;
		share.message = 0;
		err = vec_push(&one, share);
	}
	causes_merge_shares(&one, deviation);
	vec_for_each(&one, s)
		if (!err)
			err = vec_push(&row->shares, *s);
	vec_release(&one);
	return err;
}

static int causes_gather(const struct diagnosis *d, struct row_of *row)
{
	int err = 0;

	row->values = calloc(d->excesses.len + 1, sizeof(*row->values));
	vec_init(&row->shares, SUBJECTS_MAX * 64UL);
	if (!row->values)
		return -ENOMEM;
	vec_for_each(&d->excesses, j) {
		const uint64_t ns = j->ns[row->place];

		if (!ns || err)
			continue;
		row->values[row->messages++] = ns;
		row->total += ns;
		err = causes_add_shares(row, &d->own.breakdowns[j->subject], ns);
	}
	if (row->messages)
		excess_median(row->values, row->messages); /* sorts `values` */
	causes_merge_shares(&row->shares, row->total);
	return err;
}

static uint64_t causes_quantile(const struct row_of *row, unsigned int percent)
{
	return row->values[(row->messages - 1) * percent / 100];
}

static void causes_release_rows(struct row_of *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rows[i].values);
		vec_release(&rows[i].shares);
	}
}

static int causes_order_by_total(const void *a, const void *b)
{
	const struct row_of *x = a, *y = b;

	return sort_order(y->total, x->total) ?: sort_order(x->place, y->place);
}

/* Returns a cause with its first culprit: "waited for a CPU: nginx (4690)". */
static const char *causes_phrase(const struct diagnosis *d, struct report *r,
				 const struct row_of *row)
{
	const char *words = cause_phrase(row->place / WHERE_MAX);
	const struct share *top = row->shares.len ? row->shares.items : NULL;
	const char *culprit = top ? causes_culprit_name(&d->own, r, top->culprit) : "";
	char buf[WORDS_MAX];
	const char *detail =
		top ? words_detail(buf, &d->own, row->place / WHERE_MAX, top->detail) : NULL;

	if (*culprit && row->place / WHERE_MAX != CAUSE_HEAD_OF_LINE)
		return report_format(r, "%s: %s", words, culprit);
	return detail ? report_format(r, "%s: %s", words, detail) : words;
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

static void causes_add_row(const struct diagnosis *d, struct report *r, struct table *t,
			   const struct row_of *row, const struct excess_total *excess)
{
	const unsigned int cause = row->place / WHERE_MAX;
	const uint64_t all = excess->found + excess->rest;

	TABLE_ADD(t, value_string(causes_phrase(d, r, row)), value_string(cause_name(cause)),
		  value_string(cause_where_name(row->place % WHERE_MAX)),
		  value_string(cause_kind(cause)), value_u64(row->messages),
		  value_ns(row->total),
		  all ? value_fraction((double)row->total / (double)all) : value_null(),
		  value_ns(causes_quantile(row, 50)), value_ns(causes_quantile(row, 25)),
		  value_ns(causes_quantile(row, 75)), value_ns(row->values[row->messages - 1]),
		  causes_culprits_table(&d->own, r, &row->shares),
		  value_u64(row->shares.len > CULPRITS_SHOWN ? row->shares.len - CULPRITS_SHOWN :
							       0));
}

/*
 * Limits of findings about causes: their largest number, and the least share of the excess that a
 * cause must have.
 */
#define FINDINGS_MAX	  3
#define FINDING_SHARE_MIN 0.05

static void causes_add_finding(const struct diagnosis *d, struct report *r,
			       const struct row_of *row, const struct excess_total *excess)
{
	const uint64_t all = excess->found + excess->rest;
	char count[HUMAN_MAX], share[HUMAN_MAX], median[HUMAN_MAX];

	if (!row->messages || (double)row->total < FINDING_SHARE_MIN * (double)all)
		return;
	report_finding(r, "%s of the slow messages' excess: %s in %s of them, %s at the median.",
		       human_fraction(share, (double)row->total / (double)all),
		       causes_phrase(d, r, row), human_count(count, row->messages),
		       human_ns(median, causes_quantile(row, 50)));
}

int report_causes(const struct diagnosis *d, struct report *r)
{
	struct table *t = table_new(r, cause_columns, ARRAY_LEN(cause_columns));
	const struct excess_total excess = excess_total(d);
	struct row_of rows[CAUSE_PLACES] = { 0 };
	int err = 0;

	for (unsigned int place = 0; place < CAUSE_PLACES && !err; place++) {
		rows[place].place = place;
		err = causes_gather(d, &rows[place]);
	}
	qsort(rows, CAUSE_PLACES, sizeof(*rows), causes_order_by_total);
	for (unsigned int i = 0; i < CAUSE_PLACES && !err && rows[i].messages; i++)
		causes_add_row(d, r, t, &rows[i], &excess);
	object_add(&r->body, "causes", value_table(t));
	for (unsigned int i = 0; i < FINDINGS_MAX && !err; i++)
		causes_add_finding(d, r, &rows[i], &excess);
	causes_release_rows(rows, CAUSE_PLACES);
	return err;
}
