/* SPDX-License-Identifier: Apache-2.0 */
/* Reports commands that held CPUs for which messages waited, in only one of two recordings. */
#include <string.h>

#include "base/bug.h"
#include "diagnose/compare_state.h"
#include "report/human.h"

/*
 * Least effect of a command that only one side has, so that chance is no news: messages that it
 * delayed, also those expected in the other side's slice at the same share, and its share of the
 * waits for a CPU.
 */
#define ONLY_MESSAGES_MIN 3u
#define ONLY_SHARE_MIN	  0.05
/* A side has a command, too, if its messages waited for it at least 1 / ONLY_RATIO as long. */
#define ONLY_RATIO	  100u
/* Largest number of findings, for each side. */
#define ONLY_FINDINGS_MAX 3u

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

/*
 * Returns whether recording `with` has a culprit that `without` does not have. hostlat's own
 * processes are part of the measurement.
 */
static bool compare_is_only_with(const struct compared *with, const struct compared *without,
				 const struct cause_culprit *culprit)
{
	const struct task_command *command =
		culprit->command ? &with->rec.commands.all[culprit->command - 1] : NULL;
	const double here = (double)compare_slice_messages(with);
	const double there = (double)compare_slice_messages(without);

	if (!command || command->part || culprit->messages < ONLY_MESSAGES_MIN ||
	    (double)culprit->ns < ONLY_SHARE_MIN * (double)with->cpu_wait.ns ||
	    (double)culprit->messages * there < ONLY_MESSAGES_MIN * here)
		return false;
	return (double)compare_command_ns(without, command->name) / there * ONLY_RATIO <
	       (double)culprit->ns / here;
}

/* Returns whether the culprit of a recording is in none of the other side's. */
static bool compare_is_only(const struct compared *with, const struct compared_side *other,
			    const struct cause_culprit *culprit)
{
	for (size_t i = 0; i < other->n; i++)
		if (!compare_is_only_with(with, other->recordings[i], culprit))
			return false;
	return true;
}

/* Returns how many recordings of a side have a command that the other side does not have. */
static size_t compare_count_only(const struct compared_side *side,
				 const struct compared_side *other, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < side->n; i++) {
		const struct compared *with = side->recordings[i];

		vec_for_each(&with->cpu_wait.all, one)
			if (one->command &&
			    !strcmp(with->rec.commands.all[one->command - 1].name, name) &&
			    compare_is_only(with, other, one)) {
				n++;
				break;
			}
	}
	return n;
}

static const struct column only_columns[] = {
	{ "command", NULL, 0, 0 },  { "processes", NULL, 0, 0 }, { "pids", NULL, 0, 0 },
	{ "messages", NULL, 0, 0 }, { "ns", NULL, 0, 0 },	 { "median_ns", NULL, 0, 0 },
	{ "share", NULL, 0, 0 },    { "recordings", NULL, 0, 0 }, CULPRIT_PLACE_COLUMNS,
};

static void compare_add_command(const struct compared *b, struct report *r, struct table *t,
				const struct cause_culprit *one, size_t recordings)
{
	const struct culprit_place_values place = culprit_place_values(&b->cpu_wait, r, one);

	TABLE_ADD(t, culprit_command_value(&b->rec, r, one->command), value_u64(one->processes),
		  culprit_pids_value(&b->cpu_wait, r, one), value_u64(one->messages),
		  value_ns(one->ns), value_ns(one->median_ns),
		  value_fraction((double)one->ns / (double)b->cpu_wait.ns),
		  value_u64(recordings), place.unit, place.cgroup, place.share);
}

/* Returns e.g. " (in 2 of 3 recordings of A)"; "": each side has one recording. */
static const char *compare_words_in(const struct comparison *c, struct report *r, int which,
				    size_t recordings)
{
	const size_t n = c->sides[which].n;
	const char *words = n == 1 ? "" :
			    report_format(r, " (in %zu of %zu recordings%s)", recordings, n,
					  which ? "" : " of A");

	return words ? words : "";
}

/* `with` is the recording whose numbers are told; `recordings` of its side have the culprit. */
static void compare_add_only_finding(const struct comparison *c, struct report *r, int which,
				     const struct compared *with, const struct cause_culprit *one,
				     size_t recordings)
{
	char count[HUMAN_MAX], ns[HUMAN_MAX], all[HUMAN_MAX], share[HUMAN_MAX];

	report_finding(r, "%s in B%s: %s, %s%s: %s of the slice's %s waited for CPUs that it held, "
		       "%s of the waits for a CPU%s.", which ? "New" : "Gone",
		       compare_words_in(c, r, which, recordings),
		       culprit_name(&with->cpu_wait, r, one), human_ns(ns, one->ns),
		       which ? "" : " in A", human_count(count, one->messages),
		       human_counted(all, compare_slice_messages(with), "message"),
		       human_fraction(share, (double)one->ns / (double)with->cpu_wait.ns),
		       which ? "" : " there");
}

/* Returns the side's recording whose slice waited longest for CPUs. */
static const struct compared *compare_longest_wait(const struct compared_side *side)
{
	const struct compared *longest = side->recordings[0];

	for (size_t i = 1; i < side->n; i++)
		if (side->recordings[i]->cpu_wait.ns > longest->cpu_wait.ns)
			longest = side->recordings[i];
	return longest;
}

/* Adds the table `name` and the findings for commands that only side `which` has. */
static void compare_add_only(const struct comparison *c, struct report *r, int which,
			     const char *name)
{
	const struct compared_side *side = &c->sides[which], *other = &c->sides[!which];
	const struct compared *with = compare_longest_wait(side);
	struct table *t;
	unsigned int findings = 0;

	if (!c->causes || !other->targets) {
		object_add(&r->body, name, value_null());
		return;
	}
	t = table_new(r, only_columns, ARRAY_LEN(only_columns));
	vec_for_each(&with->cpu_wait.all, one) {
		size_t recordings;

		if (!compare_is_only(with, other, one))
			continue;
		recordings = compare_count_only(side, other,
						with->rec.commands.all[one->command - 1].name);
		if (2 * recordings <= side->n)
			continue;
		compare_add_command(with, r, t, one, recordings);
		if (findings++ < ONLY_FINDINGS_MAX)
			compare_add_only_finding(c, r, which, with, one, recordings);
	}
	object_add(&r->body, name, value_table(t));
}

void compare_add_only_commands(const struct comparison *c, struct report *r)
{
	compare_add_only(c, r, 1, "new_commands");
	compare_add_only(c, r, 0, "gone_commands");
}
