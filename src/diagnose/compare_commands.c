/* SPDX-License-Identifier: Apache-2.0 */
/* Reports commands that held CPUs for which messages waited, in only one of two recordings. */
#include <string.h>

#include "base/bug.h"
#include "diagnose/compare_state.h"
#include "report/human.h"

/*
 * Least effect of a new command, so that chance is no news: messages that it delayed, also those
 * expected in A's slice at the same share, and its share of the waits for a CPU.
 */
#define NEW_MESSAGES_MIN 3u
#define NEW_SHARE_MIN	 0.05
/* A command is not new if a message of A waited for it at least 1 / NEW_RATIO as long. */
#define NEW_RATIO	 100u
/* Largest number of findings. */
#define NEW_FINDINGS_MAX 3u

static uint64_t compare_slice_messages(const struct compared *s)
{
	return s->end - s->begin;
}

/* Returns for how many ns messages of the slice waited for CPUs that a command of this name had. */
static uint64_t compare_command_ns(const struct compared *s, const char *name)
{
	uint64_t ns = 0;

	vec_for_each(&s->cpu_wait.all, one)
		if (one->command && !strcmp(s->rec.commands.all[one->command - 1].name, name))
			ns += one->ns;
	return ns;
}

/* Returns whether B's culprit is new. hostlat's own processes are part of the measurement. */
static bool compare_is_new_between(const struct compared *a, const struct compared *b,
				   const struct cause_culprit *culprit)
{
	const struct task_command *command =
		culprit->command ? &b->rec.commands.all[culprit->command - 1] : NULL;
	const double in_a = (double)compare_slice_messages(a);
	const double in_b = (double)compare_slice_messages(b);

	if (!command || command->part || culprit->messages < NEW_MESSAGES_MIN ||
	    (double)culprit->ns < NEW_SHARE_MIN * (double)b->cpu_wait.ns ||
	    (double)culprit->messages * in_a < NEW_MESSAGES_MIN * in_b)
		return false;
	return (double)compare_command_ns(a, command->name) / in_a * NEW_RATIO <
	       (double)culprit->ns / in_b;
}

/* Returns whether the culprit of one of B's recordings is new beside each of A's. */
static bool compare_is_new(const struct comparison *c, const struct compared *b,
			   const struct cause_culprit *culprit)
{
	const struct compared_side *a = &c->sides[0];

	for (size_t i = 0; i < a->n; i++)
		if (!compare_is_new_between(a->recordings[i], b, culprit))
			return false;
	return true;
}

/* Returns in how many of B's recordings a command is new. */
static size_t compare_count_new(const struct comparison *c, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < c->sides[1].n; i++) {
		const struct compared *b = c->sides[1].recordings[i];

		vec_for_each(&b->cpu_wait.all, one)
			if (one->command &&
			    !strcmp(b->rec.commands.all[one->command - 1].name, name) &&
			    compare_is_new(c, b, one)) {
				n++;
				break;
			}
	}
	return n;
}

static const struct column new_columns[] = {
	{ "command", NULL, 0, 0 },  { "processes", NULL, 0, 0 }, { "pids", NULL, 0, 0 },
	{ "messages", NULL, 0, 0 }, { "ns", NULL, 0, 0 },	 { "median_ns", NULL, 0, 0 },
	{ "share", NULL, 0, 0 },    { "recordings", NULL, 0, 0 },
};

static void compare_add_new_command(const struct compared *b, struct report *r, struct table *t,
				    const struct cause_culprit *one, size_t recordings)
{
	TABLE_ADD(t, culprit_command_value(&b->rec, r, one->command), value_u64(one->processes),
		  culprit_pids_value(&b->cpu_wait, r, one), value_u64(one->messages),
		  value_ns(one->ns), value_ns(one->median_ns),
		  value_fraction((double)one->ns / (double)b->cpu_wait.ns),
		  value_u64(recordings));
}

/* `b` is the recording of the side whose numbers are told; the command is new in `recordings`. */
static void compare_add_new_finding(const struct compared *b, struct report *r,
				    const struct cause_culprit *one,
				    const struct compared_side *side, size_t recordings)
{
	char count[HUMAN_MAX], ns[HUMAN_MAX], all[HUMAN_MAX], share[HUMAN_MAX];
	const char *in = side->n == 1 ? "" :
			 report_format(r, " (in %zu of %zu recordings)", recordings, side->n);

	report_finding(r, "New in B%s: %s, %s: %s of the slice's %s waited for CPUs that it held, "
		       "%s of the waits for a CPU.", in ? in : "",
		       culprit_name(&b->cpu_wait, r, one),
		       human_ns(ns, one->ns), human_count(count, one->messages),
		       human_counted(all, compare_slice_messages(b), "message"),
		       human_fraction(share, (double)one->ns / (double)b->cpu_wait.ns));
}

/* Returns B's recording whose slice waited longest for CPUs. */
static const struct compared *compare_longest_wait(const struct compared_side *b)
{
	const struct compared *longest = b->recordings[0];

	for (size_t i = 1; i < b->n; i++)
		if (b->recordings[i]->cpu_wait.ns > longest->cpu_wait.ns)
			longest = b->recordings[i];
	return longest;
}

void compare_add_new_commands(const struct comparison *c, struct report *r)
{
	const struct compared_side *side = &c->sides[1];
	const struct compared *b = compare_longest_wait(side);
	struct table *t;
	unsigned int findings = 0;

	if (!c->causes || !c->sides[0].targets) {
		object_add(&r->body, "new_commands", value_null());
		return;
	}
	t = table_new(r, new_columns, ARRAY_LEN(new_columns));
	vec_for_each(&b->cpu_wait.all, one) {
		size_t recordings;

		if (!compare_is_new(c, b, one))
			continue;
		recordings = compare_count_new(c, b->rec.commands.all[one->command - 1].name);
		if (2 * recordings <= side->n)
			continue;
		compare_add_new_command(b, r, t, one, recordings);
		if (findings++ < NEW_FINDINGS_MAX)
			compare_add_new_finding(b, r, one, side, recordings);
	}
	object_add(&r->body, "new_commands", value_table(t));
}
