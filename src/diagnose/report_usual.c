/* SPDX-License-Identifier: Apache-2.0 */
/* Reports where the time of the usual messages goes: waits of all messages are no excess. */
#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "diagnose/sections.h"
#include "report/human.h"

/*
 * A wait is told if it is at least this share of the usual message's time, and that one of the
 * median of the messages to explain: less would not help those.
 */
#define USUAL_SHARE_MIN	 0.2
#define TARGET_SHARE_MIN 0.1

/* Sets *pid to the application of most messages to explain; 0: none. Returns 0 or -ENOMEM. */
static int usual_application(const struct diagnosis *d, uint32_t *pid)
{
	uint64_t *messages = calloc(d->baselines.len + 1, sizeof(*messages));
	uint64_t most = 0;

	*pid = 0;
	if (!messages)
		return -ENOMEM;
	vec_for_each(&d->excesses, e) {
		if (++messages[e->baseline] <= most)
			continue;
		most = messages[e->baseline];
		*pid = d->baselines.items[e->baseline].pid;
	}
	free(messages);
	return 0;
}

/*
 * Sets the means of the usual messages of one application: a mean over several would be that of no
 * message. n is 0 if there are none. Returns 0 or -ENOMEM.
 */
static int usual_gather(const struct recorded *rec, uint32_t pid, struct baseline *usual)
{
	const struct breakdown **breakdowns = calloc(rec->subjects.len + 1, sizeof(*breakdowns));
	uint32_t n = 0;
	int err = 0;

	if (!breakdowns)
		return -ENOMEM;
	for (uint32_t i = 0; i < rec->subjects.len; i++)
		if (rec->subjects.items[i].usual && subject_message(rec, i)->pid == pid)
			breakdowns[n++] = &rec->breakdowns[i];
	if (n)
		err = baseline_make(usual, breakdowns, n);
	free(breakdowns);
	return err;
}

/* Returns whether time for a cause is a wait: not the application's or the kernel's own work. */
static bool usual_is_wait(unsigned int cause)
{
	return cause != CAUSE_APPLICATION && cause != CAUSE_FUNCTION &&
	       cause != CAUSE_NOT_RECORDED && cause != CAUSE_UNEXPLAINED;
}

static void usual_add_finding(const struct diagnosis *d, struct report *r,
			      const struct baseline *usual)
{
	struct hist_quantile target;
	char share[HUMAN_MAX], latency[HUMAN_MAX], ns[HUMAN_MAX];
	uint64_t most = 0;
	unsigned int what = 0;

	for (unsigned int cause = 0; cause < CAUSE_MAX; cause++) {
		uint64_t sum = 0;

		for (unsigned int w = 0; w < WHERE_MAX && usual_is_wait(cause); w++)
			sum += usual->expected[CAUSE_PLACE(cause, w)];
		if (sum > most) {
			most = sum;
			what = cause;
		}
	}
	if (!usual->n || (double)most < USUAL_SHARE_MIN * (double)usual->latency ||
	    hist_quantile(&d->target_latency, 0.5, &target) ||
	    (double)most < TARGET_SHARE_MIN * (double)target.value)
		return;
	report_finding(r, "The usual message, too (%s at the mean): %s for %s, %s of its time.",
		       human_ns(latency, usual->latency), cause_phrase(what), human_ns(ns, most),
		       human_fraction(share, (double)most / (double)usual->latency));
}

static const struct column usual_columns[] = {
	{ "cause", NULL, 0, 0 },
	{ "where", NULL, 0, 0 },
	{ "mean_ns", NULL, 0, 0 },
};

/* Returns the table of a baseline's times by cause and place. */
static struct value usual_parts(struct report *r, const struct baseline *baseline)
{
	struct table *t = table_new(r, usual_columns, ARRAY_LEN(usual_columns));

	for (unsigned int place = 0; place < CAUSE_PLACES; place++)
		if (baseline->expected[place])
			TABLE_ADD(t, value_string(cause_name(place / WHERE_MAX)),
				  value_string(cause_where_name(place % WHERE_MAX)),
				  value_ns(baseline->expected[place]));
	return value_table(t);
}

static const struct column baseline_columns[] = {
	{ "pid", NULL, 0, 0 },
	{ "messages", NULL, 0, 0 },
	{ "mean_ns", NULL, 0, 0 },
	{ "parts", NULL, 0, 0 },
};

void report_baselines(const struct diagnosis *d, struct report *r)
{
	struct table *t = table_new(r, baseline_columns, ARRAY_LEN(baseline_columns));

	vec_for_each(&d->baselines, b)
		TABLE_ADD(t, value_u64(b->pid), value_u64(b->n), value_ns(b->latency),
			  usual_parts(r, b));
	object_add(&r->body, "baselines", value_table(t));
}

int report_usual(const struct diagnosis *d, struct report *r, bool finding)
{
	struct object *o = object_new(r);
	struct baseline usual = { 0 };
	uint32_t pid;
	int err = usual_application(d, &pid);

	if (!err)
		err = usual_gather(&d->own, pid, &usual);
	object_add(o, "pid", usual.n ? value_u64(pid) : value_null());
	object_add(o, "messages", value_u64(usual.n));
	object_add(o, "mean_ns", usual.n ? value_ns(usual.latency) : value_null());
	object_add(o, "parts", usual_parts(r, &usual));
	object_add(&r->body, "usual", value_object(o));
	if (!err && finding)
		usual_add_finding(d, r, &usual);
	return err;
}
