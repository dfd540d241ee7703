/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/activity.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/strbuf.h"
#include "bpf/abi_record.h"
#include "clock/clock.h"
#include "event/names.h"
#include "host/task.h"
#include "probe/hook.h"
#include "probe/prog_stats.h"
#include "probe/timeline.h"
#include "bpf/activity.skel.h"

#define WHY_MAX 160

/* A place is taken before the clock is read. What is older than that has its place, on any CPU. */
#define SETTLED_NS 1000000

struct activity {
	struct activity_bpf *skel;
	struct act_ring *rings; /* mapped: one per CPU */
	uint32_t cores;
	uint64_t *newest;       /* of each core, the latest time so far */
	struct timeline *timeline;
	struct strbuf missing;
};

/* Which programs make a thing known; the first of a place that this kernel takes is loaded. */
struct place {
	const char *program;
	enum hook_kind kind;
	const char *target;
	enum { NEEDED, WANTED, INSTEAD /* of the one before */ } how;
};

static const struct place places[] = {
	{ "act_switch", HOOK_TP_BTF, "sched_switch", NEEDED },
	{ "act_waking", HOOK_TP_BTF, "sched_waking", NEEDED },
	{ "act_softirq", HOOK_TP_BTF, "softirq_entry", NEEDED },
	{ "act_softirq_end", HOOK_TP_BTF, "softirq_exit", NEEDED },
	{ "act_irq", HOOK_TP_BTF, "irq_handler_entry", NEEDED },
	{ "act_irq_end", HOOK_TP_BTF, "irq_handler_exit", NEEDED },
	{ "act_local_timer", HOOK_TP_BTF, "local_timer_entry", WANTED },
	{ "act_local_timer_end", HOOK_TP_BTF, "local_timer_exit", WANTED },
	{ "act_reschedule", HOOK_TP_BTF, "reschedule_entry", WANTED },
	{ "act_reschedule_end", HOOK_TP_BTF, "reschedule_exit", WANTED },
	{ "act_call_function", HOOK_TP_BTF, "call_function_entry", WANTED },
	{ "act_call_function_end", HOOK_TP_BTF, "call_function_exit", WANTED },
	{ "act_call_function_single", HOOK_TP_BTF, "call_function_single_entry", WANTED },
	{ "act_call_function_single_end", HOOK_TP_BTF, "call_function_single_exit", WANTED },
	{ "act_irq_work", HOOK_TP_BTF, "irq_work_entry", WANTED },
	{ "act_irq_work_end", HOOK_TP_BTF, "irq_work_exit", WANTED },
	{ "act_idle", HOOK_TP_BTF, "cpu_idle", WANTED },
	{ "act_syscall", HOOK_TP_BTF, "sys_enter", WANTED },
	{ "act_syscall_end", HOOK_TP_BTF, "sys_exit", WANTED },
	{ "act_fault", HOOK_TP_BTF, "page_fault_user", WANTED },
	{ "act_reads", HOOK_TP_BTF, "sock_recv_length", WANTED },
	{ "act_reads_tcp", HOOK_TP_BTF, "tcp_rcv_space_adjust", INSTEAD },
	{ "act_reads_udp", HOOK_FENTRY, "udp_recvmsg", INSTEAD },
	{ "act_reads_udp6", HOOK_FENTRY, "udpv6_recvmsg", INSTEAD },
};

/* True if one that is INSTEAD must do: the last WANTED place before it has failed. */
static int select_program(struct activity *a, const struct place *p, bool *failed, char *why,
			  size_t size)
{
	const struct hook hook = { .kind = p->kind, .target = p->target };
	struct bpf_program *program = bpf_object__find_program_by_name(a->skel->obj, p->program);
	char reason[WHY_MAX];
	int err = 0;

	if (p->how != INSTEAD || *failed)
		err = hook_try(&hook, reason, sizeof(reason));
	bpf_program__set_autoload(program, !err && (p->how != INSTEAD || *failed));
	if (p->how != INSTEAD)
		*failed = err != 0;
	if (!err)
		return 0;
	if (p->how == NEEDED) {
		snprintf(why, size, "%s", reason);
		return err;
	}
	strbuf_printf(&a->missing, "%s%s", a->missing.len ? " " : "", p->target);
	return 0;
}

static int load(struct activity *a, uint32_t pid, char *why, size_t size)
{
	bool failed = false;
	int err;

	a->skel = activity_bpf__open();
	if (!a->skel)
		return -errno;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		err = select_program(a, &places[i], &failed, why, size);
		if (err)
			return err;
	}
	a->skel->rodata->filter_tgid = pid;
	err = bpf_map__set_max_entries(a->skel->maps.rings, a->cores);
	if (!err)
		err = activity_bpf__load(a->skel);
	return err;
}

static int name_of(uint32_t tid, char *comm, uint32_t *tgid)
{
	struct host_task task;
	int err = host_task_get(NULL, (pid_t)tid, &task);

	if (err)
		return err;
	snprintf(comm, EVENT_COMM_LEN, "%.*s", EVENT_COMM_LEN - 1, task.comm);
	*tgid = (uint32_t)task.tgid;
	return 0;
}

/*
 * Who has a CPU is known from its first switch on. On one that is never left there may be none for
 * long: so each is visited once.
 */
static void visit_cores(const struct activity *a)
{
	cpu_set_t before, one;

	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (uint32_t core = 0; core < a->cores && core < CPU_SETSIZE; core++) {
		CPU_ZERO(&one);
		CPU_SET(core, &one);
		sched_setaffinity(0, sizeof(one), &one); /* one that is offline, or not ours */
	}
	sched_setaffinity(0, sizeof(before), &before);
}

int activity_open(struct activity **out, uint32_t pid, char *why, size_t size)
{
	struct activity *a = calloc(1, sizeof(*a));
	void *rings;
	int err;

	*out = NULL;
	why[0] = '\0';
	if (!a)
		return -ENOMEM;
	strbuf_init(&a->missing, 4096);
	a->cores = (uint32_t)libbpf_num_possible_cpus();
	a->newest = calloc(a->cores, sizeof(*a->newest));
	err = a->newest ? load(a, pid, why, size) : -ENOMEM;
	if (!err) {
		rings = mmap(NULL, activity_memory(a), PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(a->skel->maps.rings), 0);
		err = rings == MAP_FAILED ? -errno : 0;
		a->rings = err ? NULL : rings;
	}
	if (err) {
		if (!why[0])
			snprintf(why, size, "what the CPUs do can't be recorded: %s",
				 strerror(-err));
		activity_free(a);
		return err;
	}
	*out = a;
	return 0;
}

int activity_start(struct activity *a)
{
	int err = activity_bpf__attach(a->skel);

	if (!err)
		err = timeline_new(&a->timeline, a->cores, clock_mono_ns(clock_system()), name_of);
	if (!err)
		visit_cores(a);
	return err;
}

const char *activity_missing(const struct activity *a)
{
	return a->missing.len ? strbuf_str(&a->missing) : "";
}

/*
 * A place whose event is still being written ends it: the next time, then. That event is later than
 * all before it (those that it may have interrupted are not written yet, either), so that is how
 * far the core is known; *until is lowered to it.
 */
static int pull_core(struct activity *a, struct event_writer *writer, uint32_t core,
		     uint64_t *until)
{
	struct act_ring *ring = &a->rings[core];
	uint64_t tail = ring->tail, head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	int err = 0;

	for (; tail != head && !err; tail++) {
		struct act *place = &ring->at[tail & (ACT_RING - 1)], act;

		if (__atomic_load_n(&place->type, __ATOMIC_ACQUIRE) == ACT_NONE)
			break;
		act = *place;
		__atomic_store_n(&place->type, ACT_NONE, __ATOMIC_RELAXED);
		if (act.type != ACT_NAME && act.time > a->newest[core])
			a->newest[core] = act.time;
		err = timeline_put(a->timeline, writer, core, &act);
	}
	if (tail != head && a->newest[core] < *until)
		*until = a->newest[core];
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	return err;
}

int activity_pull(struct activity *a, struct event_writer *writer, uint64_t until)
{
	const uint64_t now = clock_mono_ns(clock_system()) - SETTLED_NS;
	int err = 0;

	if (now < until)
		until = now;
	for (uint32_t core = 0; core < a->cores; core++) {
		int e = pull_core(a, writer, core, &until);

		if (!err)
			err = e;
	}
	return err ? err : timeline_settle(a->timeline, writer, until);
}

int activity_call(struct activity *a, uint32_t core, const struct timeline_call *call)
{
	return timeline_call(a->timeline, core, call);
}

uint32_t activity_cores(const struct activity *a)
{
	return a->cores;
}

void activity_cost(const struct activity *a, uint64_t *run_ns, uint64_t *runs)
{
	prog_stats_add_all(a->skel->obj, run_ns, runs);
}

uint64_t activity_lost(const struct activity *a)
{
	uint64_t sum = a->timeline ? timeline_too_late(a->timeline) : 0;

	for (uint32_t core = 0; core < a->cores; core++)
		sum += __atomic_load_n(&a->rings[core].lost, __ATOMIC_RELAXED);
	return sum;
}

uint64_t activity_memory(const struct activity *a)
{
	return (uint64_t)a->cores * sizeof(struct act_ring);
}

int activity_end(struct activity *a, struct event_writer *writer)
{
	int err;

	activity_bpf__detach(a->skel);
	err = activity_pull(a, writer, UINT64_MAX);
	if (!err)
		err = timeline_settle(a->timeline, writer, UINT64_MAX);
	for (uint32_t core = 0; core < a->cores; core++)
		timeline_lost(a->timeline, core,
			      (uint32_t)__atomic_load_n(&a->rings[core].lost, __ATOMIC_RELAXED));
	return err ? err : timeline_end(a->timeline, writer, clock_mono_ns(clock_system()));
}

void activity_free(struct activity *a)
{
	if (!a)
		return;
	if (a->rings)
		munmap(a->rings, activity_memory(a));
	activity_bpf__destroy(a->skel);
	timeline_free(a->timeline);
	free(a->newest);
	strbuf_release(&a->missing);
	free(a);
}
