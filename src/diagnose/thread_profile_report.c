/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a thread profile as text and JSON; finds the thread that serves a connection. */
#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "diagnose/thread_profile.h"
#include "diagnose/culprits.h"
#include "diagnose/sections.h"
#include "report/human.h"

/* A thread that reads at least this share of a connection's messages serves the connection. */
#define READS_PERCENT 90u
/* Text omits states with a smaller share of the time. */
#define PHRASE_SHARE_MIN 0.01

/* ---- thread that serves a connection ---- */

static bool profile_same_flow(const struct event_flow *a, const struct event_flow *b)
{
	const size_t size = a->family == AF_INET ? 4 : 16;

	return a->family == b->family && a->local_port == b->local_port &&
	       a->remote_port == b->remote_port && !memcmp(a->local, b->local, size) &&
	       !memcmp(a->remote, b->remote, size) &&
	       (!a->netns_cookie || !b->netns_cookie || a->netns_cookie == b->netns_cookie);
}

static bool profile_is_of(const struct recorded *rec, const struct message *m,
			  const struct event_flow *flow, uint32_t *last, bool *same)
{
	const struct event_flow *its;

	if (m->flow != *last) {
		its = recorded_flows_find(&rec->flows, m->flow);
		*same = its && profile_same_flow(its, flow);
		*last = m->flow;
	}
	return *same;
}

/*
 * Returns the tid that read more than half of the flow's messages, if there is one (majority vote
 * of Boyer and Moore). It read *n of *all messages.
 */
static uint32_t profile_main_reader(const struct recorded *rec, const struct event_flow *flow,
				    uint64_t *n, uint64_t *all)
{
	uint32_t tid = 0, last = 0;
	uint64_t votes = 0;
	bool same = false;

	*n = *all = 0;
	vec_for_each(&rec->messages.all, m) {
		if (!m->tid || !profile_is_of(rec, m, flow, &last, &same))
			continue;
		++*all;
		if (!votes)
			tid = m->tid;
		votes += m->tid == tid ? 1 : -1ull;
	}
	vec_for_each(&rec->messages.all, m)
		*n += *all && m->tid == tid && profile_is_of(rec, m, flow, &last, &same);
	return tid;
}

/* Returns the only thread of a process that the recording knows; 0: none, or several. */
static uint32_t profile_only_thread(const struct recorded *rec, uint32_t pid)
{
	uint32_t only = 0;

	for (uint32_t id = 1; pid && id < rec->tasks.n; id++) {
		const struct task_name *task = tasks_get(&rec->tasks, id);

		if (task->pid != pid)
			continue;
		if (only && tasks_get(&rec->tasks, only)->tid != task->tid)
			return 0;
		only = id;
	}
	return only;
}

uint32_t thread_profile_reader(const struct diagnosis *d, const struct event_flow *flow,
			       uint32_t pid, const char **why)
{
	const struct recorded *rec = &d->own;
	uint64_t n = 0, all = 0;
	const uint32_t tid = flow ? profile_main_reader(rec, flow, &n, &all) : 0;
	uint32_t task = 0;

	*why = NULL;
	if (all && n * 100 >= all * READS_PERCENT)
		task = tasks_by_tid(&rec->tasks, tid);
	else if (all)
		*why = "several threads read the connection's messages";
	else
		task = profile_only_thread(rec, pid);
	if (!task && !*why)
		*why = all ? "the name of the thread that reads the connection was not recorded" :
		       "no message of the connection was recorded, and the recording shows no "
		       "thread or several threads of its process";
	return task;
}

/* ---- text ---- */

static const char *const state_names[THREAD_STATES] = {
	[THREAD_ON_CPU] = "on-cpu",	[THREAD_INTERRUPTED] = "interrupted",
	[THREAD_CPU_WAIT] = "cpu-wait", [THREAD_ASLEEP] = "asleep",
	[THREAD_BLOCKED] = "blocked",	[THREAD_STOPPED] = "stopped",
	[THREAD_UNKNOWN] = "unknown",
};

static const char *const state_phrases[THREAD_STATES] = {
	[THREAD_ON_CPU] = "on a CPU",
	[THREAD_INTERRUPTED] = "interrupted",
	[THREAD_CPU_WAIT] = "waiting for a CPU",
	[THREAD_ASLEEP] = "asleep",
	[THREAD_BLOCKED] = "waiting for a device or memory",
	[THREAD_STOPPED] = "stopped",
	[THREAD_UNKNOWN] = "not recorded",
};

/* Returns a call's name, e.g. "nanosleep"; NULL: in no call, or unknown. */
static const char *profile_call_name(const struct diagnosis *d, uint32_t call, struct report *r)
{
	const char *name = call ? calls_name(&d->own.calls, call - 1) : NULL;

	return name ? name : call ? report_format(r, "system call %u", call - 1) : NULL;
}

/* Returns the call with most of the state's time; NULL: in no call, or in several. */
static const char *profile_main_call(const struct diagnosis *d,
				     const struct thread_profile *profile, enum thread_state state,
				     struct report *r)
{
	vec_for_each(&profile->calls, c) {
		const uint64_t ns = state == THREAD_ON_CPU  ? c->on_cpu_ns :
				    state == THREAD_BLOCKED ? c->blocked_ns :
							      c->asleep_ns;

		if (2 * ns > profile->ns[state])
			return profile_call_name(d, c->call, r);
	}
	return NULL;
}

bool thread_profile_waits_for_input(const struct diagnosis *d,
				    const struct thread_profile *profile, struct report *r)
{
	static const char *const calls[] = {
		"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select",
		"pselect6", "read", "readv", "recvfrom", "recvmsg", "recvmmsg", "accept",
		"accept4", "io_uring_enter",
	};
	const char *call;

	if (2 * profile->ns[THREAD_ASLEEP] <= profile->total_ns)
		return false;
	call = profile_main_call(d, profile, THREAD_ASLEEP, r);
	for (size_t i = 0; call && i < ARRAY_LEN(calls); i++)
		if (!strcmp(call, calls[i]))
			return true;
	return false;
}

const char *thread_profile_name(const struct diagnosis *d, const struct thread_profile *profile,
				struct report *r)
{
	return culprit_task_name(&d->own, r, profile->task);
}

/* Fills in the commands that held the CPUs for which the thread waited. An error goes to `r`. */
static void profile_find_culprits(const struct diagnosis *d, const struct thread_profile *profile,
				  struct report *r, struct cause_culprits *out)
{
	int err = 0;

	culprits_init(out, &d->own, CAUSE_CPU_WAIT);
	vec_for_each(&profile->culprits, c)
		if (!err)
			err = culprits_add_task(out, c->task, c->ns);
	if (!err)
		err = culprits_finish(out);
	if (!r->error)
		r->error = err;
}

/* Returns the words "held longest by gzip (6 processes)" in parentheses; "": unknown. */
static const char *profile_culprit_phrase(const struct diagnosis *d,
					  const struct thread_profile *profile, struct report *r)
{
	struct cause_culprits culprits;
	const char *name = "";

	profile_find_culprits(d, profile, r, &culprits);
	if (culprits.all.len)
		name = culprit_name(&culprits, r, culprits.all.items);
	culprits_release(&culprits);
	return *name ? report_format(r, " (held longest by %s)", name) : "";
}

static const char *profile_add_state(const struct diagnosis *d,
				     const struct thread_profile *profile, enum thread_state state,
				     const char *line, struct report *r)
{
	const double share = (double)profile->ns[state] / (double)profile->total_ns;
	const char *call = NULL, *culprit = "";
	char buf[HUMAN_MAX];

	if (share < PHRASE_SHARE_MIN)
		return line;
	if (state == THREAD_ASLEEP || state == THREAD_BLOCKED || state == THREAD_ON_CPU)
		call = profile_main_call(d, profile, state, r);
	if (state == THREAD_CPU_WAIT)
		culprit = profile_culprit_phrase(d, profile, r);
	return report_format(r, "%s%s%s%s%s %s%s", line ? line : "", line && *line ? ", " : "",
			     state_phrases[state], call ? " in " : "", call ? call : "",
			     human_fraction(buf, share), culprit ? culprit : "");
}

const char *thread_profile_phrase(const struct diagnosis *d, const struct thread_profile *profile,
				  struct report *r)
{
	bool written[THREAD_STATES] = { false };
	const char *line = "";

	for (int n = 0; profile->total_ns && n < THREAD_STATES; n++) {
		int most = -1;

		for (int i = 0; i < THREAD_STATES; i++)
			if (!written[i] && (most < 0 || profile->ns[i] > profile->ns[most]))
				most = i;
		written[most] = true;
		line = profile_add_state(d, profile, (enum thread_state)most, line, r);
	}
	return line;
}

/* ---- JSON ---- */

static struct value profile_calls_value(const struct diagnosis *d,
					const struct thread_profile *profile, struct report *r)
{
	static const struct column columns[] = {
		{ "call", NULL, 0, 0 }, { "on_cpu_ns", NULL, 0, 0 }, { "asleep_ns", NULL, 0, 0 },
		{ "blocked_ns", NULL, 0, 0 },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(&profile->calls, c)
		TABLE_ADD(t, value_string(profile_call_name(d, c->call, r)), value_ns(c->on_cpu_ns),
			  value_ns(c->asleep_ns), value_ns(c->blocked_ns));
	return value_table(t);
}

static struct value profile_culprits_value(const struct diagnosis *d,
					   const struct thread_profile *profile, struct report *r)
{
	static const struct column columns[] = {
		{ "pid", NULL, 0, 0 },	   { "tid", NULL, 0, 0 },
		{ "comm", NULL, 0, 0 },	   { "ns", NULL, 0, 0 },
		{ "command", NULL, 0, 0 }, { "hostlat", NULL, 0, 0 },
		{ "processes", NULL, 0, 0 }, { "pids", NULL, 0, 0 },
		CULPRIT_PLACE_COLUMNS,
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	const struct recorded *rec = &d->own;
	struct cause_culprits culprits;

	profile_find_culprits(d, profile, r, &culprits);
	for (size_t i = 0; i < culprits.all.len && i < CULPRITS_SHOWN; i++) {
		const struct cause_culprit *c = &culprits.all.items[i];
		const struct task_name *task = tasks_get(&rec->tasks, c->task);
		const struct value command = culprit_command_value(rec, r, c->command);
		const struct culprit_place_values place = culprit_place_values(&culprits, r, c);

		TABLE_ADD(t, value_u64(task->pid), value_u64(task->tid), command, value_ns(c->ns),
			  command, culprit_part_value(rec, c->command), value_u64(c->processes),
			  culprit_pids_value(&culprits, r, c), place.unit, place.cgroup,
			  place.share);
	}
	culprits_release(&culprits);
	return value_table(t);
}

struct object *thread_profile_object(const struct diagnosis *d,
				     const struct thread_profile *profile, struct report *r)
{
	const struct task_name *task = tasks_get(&d->own.tasks, profile->task);
	struct object *o = object_new(r), *states = object_new(r);

	object_add(o, "pid", value_u64(task->pid));
	object_add(o, "tid", value_u64(task->tid));
	object_add(o, "comm", value_string(report_format(r, "%s", task->comm)));
	object_add(o, "duration_ns", value_ns(profile->total_ns));
	for (int i = 0; i < THREAD_STATES; i++)
		object_add(states, state_names[i], value_ns(profile->ns[i]));
	object_add(o, "state_ns", value_object(states));
	object_add(o, "calls", profile_calls_value(d, profile, r));
	object_add(o, "culprits", profile_culprits_value(d, profile, r));
	return o;
}
