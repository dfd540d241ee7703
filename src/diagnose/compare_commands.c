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
static bool compare_is_new(const struct comparison *c, const struct cause_culprit *culprit)
{
	const struct compared *a = &c->sides[0], *b = &c->sides[1];
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

static const struct column new_columns[] = {
	{ "command", NULL, 0, 0 },  { "processes", NULL, 0, 0 }, { "pids", NULL, 0, 0 },
	{ "messages", NULL, 0, 0 }, { "ns", NULL, 0, 0 },	 { "median_ns", NULL, 0, 0 },
	{ "share", NULL, 0, 0 },
};

static void compare_add_new_command(const struct compared *b, struct report *r, struct table *t,
				    const struct cause_culprit *one)
{
	TABLE_ADD(t, culprit_command_value(&b->rec, r, one->command), value_u64(one->processes),
		  culprit_pids_value(&b->cpu_wait, r, one), value_u64(one->messages),
		  value_ns(one->ns), value_ns(one->median_ns),
		  value_fraction((double)one->ns / (double)b->cpu_wait.ns));
}

static void compare_add_new_finding(const struct compared *b, struct report *r,
				    const struct cause_culprit *one)
{
	char count[HUMAN_MAX], ns[HUMAN_MAX], all[HUMAN_MAX], share[HUMAN_MAX];

	report_finding(r, "New in B: %s, %s: %s of the slice's %s waited for CPUs that it held, %s "
		       "of the waits for a CPU.", culprit_name(&b->cpu_wait, r, one),
		       human_ns(ns, one->ns), human_count(count, one->messages),
		       human_counted(all, compare_slice_messages(b), "message"),
		       human_fraction(share, (double)one->ns / (double)b->cpu_wait.ns));
}

void compare_add_new_commands(const struct comparison *c, struct report *r)
{
	const struct compared *b = &c->sides[1];
	struct table *t;
	unsigned int findings = 0;

	if (!c->causes || !compare_slice_messages(&c->sides[0])) {
		object_add(&r->body, "new_commands", value_null());
		return;
	}
	t = table_new(r, new_columns, ARRAY_LEN(new_columns));
	vec_for_each(&b->cpu_wait.all, one) {
		if (!compare_is_new(c, one))
			continue;
		compare_add_new_command(b, r, t, one);
		if (findings++ < NEW_FINDINGS_MAX)
			compare_add_new_finding(b, r, one);
	}
	object_add(&r->body, "new_commands", value_table(t));
}
