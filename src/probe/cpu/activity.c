/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/activity.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "bpf/abi_record.h"
#include "clock/clock.h"
#include "event/names.h"
#include "host/cgroup.h"
#include "host/task.h"
#include "probe/common/hook.h"
#include "probe/common/prog_stats.h"
#include "probe/common/refusal.h"
#include "probe/cpu/timeline.h"
#include "bpf/activity.skel.h"

#define WHY_MAX 160

/*
 * Age in ns at which an event's ring entry counts as complete. A BPF program reserves the entry
 * before it reads the clock for the event.
 */
#define SETTLED_NS 1000000

struct activity {
	struct activity_bpf *skel;
	struct act_ring *rings; /* mapped, one ring per CPU */
	uint32_t cores;
	uint64_t *newest;       /* latest event's time, by core */
	struct timeline *timeline;
	struct strbuf missing;
};

/*
 * A hook, or a pair of hooks at begin and end. A pair is loaded completely or not at all: a begin
 * without its end would make a span that never ends.
 */
struct activity_place {
	const char *program, *target;
	const char *end, *end_target; /* program and target at the span's end; NULL: no pair */
	enum hook_kind kind;
	/* NEEDED: loading fails without it; INSTEAD: used only if the last WANTED hook failed */
	enum { WANTED, NEEDED, INSTEAD } need;
	const char *without;
};

#define TRACEPOINT(name) .kind = HOOK_TP_BTF, .target = name
#define FENTRY(name) .kind = HOOK_FENTRY, .target = name
/* Table row of a type of interrupt that has entry and exit tracepoints of its own. */
#define INTERRUPT(name) \
	{ .program = "act_" name, TRACEPOINT(name "_entry"), .end = "act_" name "_end", \
	  .end_target = name "_exit", \
	  .without = "the time of these interrupts counts as the interrupted task's" }
#define READS .without = "the task that read a message is unknown unless another hook shows it"

static const struct activity_place activity_places[] = {
	{ .program = "act_switch", TRACEPOINT("sched_switch"), .need = NEEDED },
	{ .program = "act_waking", TRACEPOINT("sched_waking"), .need = NEEDED },
	{ .program = "act_softirq", TRACEPOINT("softirq_entry"), .end = "act_softirq_end",
	  .end_target = "softirq_exit", .need = NEEDED },
	{ .program = "act_irq", TRACEPOINT("irq_handler_entry"), .end = "act_irq_end",
	  .end_target = "irq_handler_exit", .need = NEEDED },
	INTERRUPT("local_timer"),
	INTERRUPT("reschedule"),
	INTERRUPT("call_function"),
	INTERRUPT("call_function_single"),
	INTERRUPT("irq_work"),
	{ .program = "act_idle", TRACEPOINT("cpu_idle"),
	  .without = "the idle states of CPUs are unknown" },
	{ .program = "act_syscall", TRACEPOINT("sys_enter"), .end = "act_syscall_end",
	  .end_target = "sys_exit",
	  .without = "the system call in which a task waited is unknown" },
	{ .program = "act_fault", TRACEPOINT("page_fault_user"),
	  .without = "page faults count as the application's time" },
	{ .program = "act_reads", TRACEPOINT("sock_recv_length"), READS },
	{ .program = "act_reads_tcp", TRACEPOINT("tcp_rcv_space_adjust"), .need = INSTEAD, READS },
	{ .program = "act_reads_udp", FENTRY("udp_recvmsg"), .need = INSTEAD, READS },
	{ .program = "act_reads_udp6", FENTRY("udpv6_recvmsg"), .need = INSTEAD, READS },
};

/* Tries a hook. Returns 0, or -errno with the reason in words in `why`. */
static int activity_try_program(const struct refusals *refused, const char *program,
				enum hook_kind kind, const char *target, char *why, size_t size)
{
	const struct hook hook = { .kind = kind, .target = target };
	const char *said = refusals_of(refused, program);

	if (!said)
		return hook_try(&hook, why, size);
	snprintf(why, size, "program %s at %s: %s", program, target, said);
	return -EPERM;
}

static int activity_try_place(const struct refusals *refused, const struct activity_place *p,
			      char *why, size_t size)
{
	int err = activity_try_program(refused, p->program, p->kind, p->target, why, size);

	if (!err && p->end)
		err = activity_try_program(refused, p->end, p->kind, p->end_target, why, size);
	return err;
}

static int activity_select_program(struct activity *a, const char *program, enum hook_kind kind,
				   const char *target)
{
	return hook_select_program(bpf_object__find_program_by_name(a->skel->obj, program), kind,
				   target);
}

/*
 * Selects the programs of a hook or a pair of hooks for loading. *failed is true if the last WANTED
 * hook failed, and is updated: only then INSTEAD hooks are used. Returns 0 or -errno.
 */
static int activity_select_place(struct activity *a, const struct refusals *refused,
				 const struct activity_place *p, bool *failed, char *why,
				 size_t size)
{
	bool tried = p->need != INSTEAD || *failed;
	char reason[WHY_MAX];
	int err = tried ? activity_try_place(refused, p, reason, sizeof(reason)) : 0;

	if (p->need != INSTEAD)
		*failed = err != 0;
	if (!tried)
		return 0;
	if (!err)
		return activity_select_program(a, p->program, p->kind, p->target) ?:
		       p->end ? activity_select_program(a, p->end, p->kind, p->end_target) : 0;
	if (p->need == NEEDED) {
		snprintf(why, size, "%s", reason);
		return err;
	}
	strbuf_printf(&a->missing, "%s%s; without it, %s", a->missing.len ? "\n" : "", reason,
		      p->without);
	return 0;
}

/*
 * Loads the BPF programs once. Returns 0, -EAGAIN to repeat without the refused program, or -errno.
 */
static int activity_load_once(struct activity *a, uint32_t pid, struct refusals *refused, char *why,
			      size_t size)
{
	struct bpf_program *program;
	bool failed = false;
	int err;

	activity_bpf__destroy(a->skel);
	strbuf_reset(&a->missing);
	a->skel = activity_bpf__open();
	if (!a->skel)
		return -errno;
	bpf_object__for_each_program(program, a->skel->obj)
		bpf_program__set_autoload(program, false);
	for (size_t i = 0; i < ARRAY_LEN(activity_places); i++) {
		err = activity_select_place(a, refused, &activity_places[i], &failed, why, size);
		if (err)
			return err;
	}
	a->skel->rodata->filter_tgid = pid;
	err = bpf_map__set_max_entries(a->skel->maps.rings, a->cores);
	return err ? err : refusals_load(refused, a->skel->skeleton);
}

static int activity_load(struct activity *a, uint32_t pid, char *why, size_t size)
{
	struct refusals refused = { 0 };
	int err;

	do
		err = activity_load_once(a, pid, &refused, why, size);
	while (err == -EAGAIN);
	if (err && !why[0] && refusal_name()[0])
		snprintf(why, size, "this kernel refuses %s (%s)", refusal_name(), strerror(-err));
	return err;
}

static int activity_task_name(uint32_t tid, char *comm, uint32_t *tgid)
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
 * Fills in a control group. It fails where cgroup2 is not mounted, where its mount shows only a
 * part of the hierarchy (in a container), and once the group is gone: ids are never reused.
 */
static int activity_place(void *ctx, uint64_t id, struct timeline_path *out)
{
	struct host_cgroup cgroup;
	char path[HOST_PATH_MAX];
	int err = host_cgroup2_path(NULL, id, path, sizeof(path));

	(void)ctx;
	if (err)
		return err;
	host_cgroup_parse(path, &cgroup);
	if (strnlen(path, sizeof(path)) >= sizeof(out->cgroup) ||
	    strnlen(cgroup.unit, sizeof(cgroup.unit)) >= sizeof(out->unit))
		return -ENAMETOOLONG;
	snprintf(out->cgroup, sizeof(out->cgroup), "%s", path);
	snprintf(out->unit, sizeof(out->unit), "%.*s", (int)sizeof(out->unit) - 1,
		 cgroup.manager ? cgroup.label : cgroup.unit);
	return 0;
}

static const struct timeline_lookup activity_lookup = {
	.name = activity_task_name, .place = activity_place,
};

#define KERNEL_CPUS_MAX 8192 /* largest CONFIG_NR_CPUS */

/*
 * Runs once on each CPU, which causes two context switches there: the task on a CPU is known from
 * its first switch on, and an isolated CPU may have no switch for long. The masks are as large as
 * the kernel's, as sched_getaffinity() refuses smaller ones.
 */
static void activity_visit_cores(const struct activity *a)
{
	const int cores = a->cores > KERNEL_CPUS_MAX ? (int)a->cores : KERNEL_CPUS_MAX;
	cpu_set_t *before = CPU_ALLOC(cores), *one = CPU_ALLOC(cores);
	const size_t size = CPU_ALLOC_SIZE(cores);

	if (before && one && !sched_getaffinity(0, size, before)) {
		for (uint32_t core = 0; core < a->cores; core++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(core, size, one);
			/* fails for CPUs offline or not permitted */
			sched_setaffinity(0, size, one);
		}
		sched_setaffinity(0, size, before);
	}
	CPU_FREE(before);
	CPU_FREE(one);
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
	err = !a->newest	     ? -ENOMEM
	      : hook_none(why, size) ? -ENOTSUP
				     : activity_load(a, pid, why, size);
	if (!err) {
		rings = mmap(NULL, a->cores * sizeof(*a->rings), PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(a->skel->maps.rings), 0);
		err = rings == MAP_FAILED ? -errno : 0;
		a->rings = err ? NULL : rings;
	}
	if (err) {
		if (!why[0])
			snprintf(why, size, "%s", strerror(-err));
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
		err = timeline_new(&a->timeline, a->cores, clock_now(), &activity_lookup);
	if (!err)
		activity_visit_cores(a);
	return err;
}

const char *activity_missing(const struct activity *a)
{
	return a->missing.len ? strbuf_str(&a->missing) : "";
}

/*
 * Reads a core's ring up to the first entry that is still being written; the next call continues
 * there. If there is such an entry, *until is lowered to the time of the core's latest event, as
 * later events may be missing.
 */
static int activity_pull_core(struct activity *a, struct event_writer *writer, uint32_t core,
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
	const uint64_t now = clock_now() - SETTLED_NS;
	int err = 0;

	if (now < until)
		until = now;
	for (uint32_t core = 0; core < a->cores; core++) {
		int e = activity_pull_core(a, writer, core, &until);

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
	return err ? err : timeline_end(a->timeline, writer, clock_now());
}

void activity_free(struct activity *a)
{
	if (!a)
		return;
	if (a->rings)
		munmap(a->rings, a->cores * sizeof(*a->rings));
	activity_bpf__destroy(a->skel);
	timeline_free(a->timeline);
	free(a->newest);
	strbuf_release(&a->missing);
	free(a);
}
