/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/period_commands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "diagnose/culprits.h"
#include "diagnose/period_judge.h"
#include "diagnose/stream.h"
#include "report/human.h"

#define COMMANDS_NAMED 3u /* commands in the finding, at most */

struct period_commands {
	const struct recorded *rec;
	struct latency_period period;
	struct burst_list bursts;
	struct period_commands_list told;
	uint64_t beyond; /* bursts beyond the limits of memory and of tests */
};

static int period_commands_find(struct period_commands *found)
{
	const struct latency_period *period = &found->period;
	uint64_t untested = 0;
	int err = bursts_read(found->rec, period->from, period->to,
			      (uint64_t)(PERIOD_APART * period->ns), &found->bursts,
			      &found->beyond);

	if (!err)
		err = period_judge(period, &found->bursts, &found->told, &untested);
	found->beyond += untested;
	return err;
}

int period_commands_new(struct period_commands **out, const struct diagnosis *d,
			struct event_reader *load, const struct latency_period *period)
{
	struct period_commands *found = *out = calloc(1, sizeof(*found));
	int err, cores;

	if (!found)
		return -ENOMEM;
	found->rec = &d->own;
	found->period = *period;
	vec_init(&found->bursts, BURSTS_MAX);
	vec_init(&found->told, PERIOD_TESTED_MAX);
	if (!(period->ns > 0))
		return 0;
	cores = stream_cores(found->rec->reader);
	if (cores < 0)
		return cores;
	err = latency_period_refine(&found->period, load);
	if (!cores)
		found->period.why = "no CPU activity was recorded";
	return err || found->period.why ? err : period_commands_find(found);
}

void period_commands_free(struct period_commands *found)
{
	if (!found)
		return;
	vec_release(&found->bursts);
	vec_release(&found->told);
	free(found);
}

/* ---- the report ---- */

/* Makes a culprit of a command, with its tasks and their time on a CPU. */
static int period_commands_culprit(const struct period_commands *found,
				   const struct period_command *c, struct cause_culprits *culprits)
{
	int err = 0;

	culprits_init(culprits, found->rec, CAUSE_CPU_WAIT);
	for (size_t i = c->first; !err && i < c->end; i++) {
		const struct burst *burst = &found->bursts.items[i];

		err = culprits_add_task(culprits, burst->task, burst->ns ? burst->ns : 1);
	}
	return err ? err : culprits_finish(culprits);
}

static const struct column period_columns[] = {
	{ "command", NULL, 0, 0 },   { "pid", NULL, 0, 0 },      { "tid", NULL, 0, 0 },
	{ "processes", NULL, 0, 0 }, { "pids", NULL, 0, 0 },     { "bursts", NULL, 0, 0 },
	{ "same", NULL, 0, 0 },      { "periods", NULL, 0, 0 },  { "length", NULL, 0, 0 },
	{ "p_value", NULL, 0, 0 },   { "before_ns", NULL, 0, 0 }, { "ns", NULL, 0, 0 },
	CULPRIT_PLACE_COLUMNS,
};

static void period_commands_add_row(const struct period_commands *found,
				    const struct period_command *c,
				    const struct cause_culprits *culprits, struct report *r,
				    struct table *t)
{
	const struct cause_culprit *culprit = &culprits->all.items[0];
	const struct culprit_place_values place = culprit_place_values(culprits, r, culprit);
	const struct task_name *task = tasks_get(&found->rec->tasks, culprit->task);

	TABLE_ADD(t, culprit_command_value(found->rec, r, c->command), value_u64(task->pid),
		  value_u64(task->tid), value_u64(culprit->processes),
		  culprit_pids_value(culprits, r, culprit), value_u64(c->bursts),
		  value_u64(c->same), value_u64(c->periods), value_number(c->length),
		  value_number(c->p), value_sns((int64_t)(c->before * found->period.ns)),
		  value_ns(c->ns / c->bursts), place.unit, place.cgroup, place.share);
}

/* Returns a command with its evidence, for the finding. */
static const char *period_commands_phrase(const struct period_commands *found,
					  const struct period_command *c,
					  const struct cause_culprits *culprits, struct report *r)
{
	char ns[HUMAN_MAX];

	return report_format(r, "%s ran in %u of %.0f periods, %u of its %u bursts within the same "
			     "tenth of the period, %s on a CPU each",
			     culprit_name(culprits, r, &culprits->all.items[0]), c->periods,
			     latency_period_count(&found->period), c->same, c->bursts,
			     human_ns(ns, c->ns / c->bursts));
}

static int period_commands_add(const struct period_commands *found, struct report *r,
			       struct table *t, const char **text)
{
	struct cause_culprits culprits;
	int err = 0;

	*text = "";
	for (size_t i = 0; !err && i < found->told.len; i++) {
		const struct period_command *c = &found->told.items[i];

		err = period_commands_culprit(found, c, &culprits);
		if (!err)
			period_commands_add_row(found, c, &culprits, r, t);
		if (!err && i < COMMANDS_NAMED)
			*text = report_format(r, "%s%s%s", *text, i ? "; " : "",
					      period_commands_phrase(found, c, &culprits, r));
		culprits_release(&culprits);
	}
	return err;
}

static void period_commands_add_finding(const struct period_commands *found, const char *text,
					struct report *r)
{
	char period[HUMAN_MAX], beyond[HUMAN_MAX];

	human_ns(period, (uint64_t)found->period.ns);
	if (found->period.why)
		report_finding(r, "The latency may peak every %s, but no command is named for it: "
			       "%s.", period, found->period.why);
	else if (found->told.len)
		report_finding(r, "The latency peaks every %s: %s.", period, text);
	else
		report_finding(r, "The latency peaks every %s, but no command on this host starts "
			       "to run at this period%s: look for a timer within the server, and "
			       "at the network and the hypervisor.", period, found->beyond ?
			       report_format(r, " (%s not examined)",
					     human_were(beyond, found->beyond, "burst")) : "");
}

int period_commands_report(const struct period_commands *found, struct report *r)
{
	struct table *t = table_new(r, period_columns, ARRAY_LEN(period_columns));
	const struct latency_period *period = &found->period;
	struct object *o = object_new(r);
	const char *text;
	int err;

	if (!(period->ns > 0)) {
		object_add(&r->body, "period", value_null());
		return 0;
	}
	err = period_commands_add(found, r, t, &text);
	object_add(o, "period_ns", value_ns((uint64_t)period->ns));
	object_add(o, "periods", value_u64((uint64_t)latency_period_count(period)));
	object_add(o, "why", value_string(period->why));
	object_add(o, "bursts_beyond", value_u64(found->beyond));
	object_add(o, "commands", value_table(t));
	object_add(&r->body, "period", value_object(o));
	period_commands_add_finding(found, text, r);
	return err;
}
