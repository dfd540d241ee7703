/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the watch programs: settings, hooks, sizes of maps, attachment. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock/clock.h"
#include "host/cgroup.h"
#include "probe/netfilter.h"
#include "probe/prog_stats.h"
#include "probe/refusal.h"
#include "probe/watch_internal.h"
#include "stats/buckets.h"
#include "bpf/watch.skel.h"

/* Bits of `slots` in the programs, by stage. */
static const struct {
	uint32_t stage, slot;
} slot_of[] = {
	{ STAGE_LINK, SLOT_LINK },         { STAGE_IP, SLOT_IP },
	{ STAGE_TRANSPORT, SLOT_TRANSPORT }, { STAGE_ENQUEUED, SLOT_ENQUEUED },
	{ STAGE_RUNNABLE, SLOT_RUNNABLE }, { STAGE_RUNNING, SLOT_RUNNING },
	{ STAGE_READ, SLOT_READ },         { STAGE_QDISC, SLOT_QDISC },
	{ STAGE_DRIVER, SLOT_DRIVER },     { STAGE_SENT, SLOT_SENT },
	{ STAGE_ACKED, SLOT_ACKED },       { STAGE_SEGMENT, SLOT_SEGMENT },
	{ STAGE_PROBE, SLOT_FUNCTION },    { STAGE_SOCKET, SLOT_SOCKET },
};

static const uint32_t origin_of[ORIGIN_MAX] = {
	[ORIGIN_NONE] = ROW_ORIGINS,  [ORIGIN_LINK] = ROW_LINK,     [ORIGIN_STACK] = ROW_STACK,
	[ORIGIN_DELIVER] = ROW_DELIVER, [ORIGIN_SENDER] = ROW_SENDER,
};

/* ---- settings and sizes ---- */

/* Culprits, settings, and what the kernel adds to each map; bench/scrape compares. */
#define SMALL_MAPS (160ULL << 10)

#define TASK_PLACE (sizeof(struct task_state) + TASK_OVERHEAD)

#define FIXED_MAPS (SMALL_MAPS + LINK_SETS * 2ULL * (sizeof(struct link_entry) + 8) + \
		    TX_SETS * 2ULL * 4 + TCP_TABLE * sizeof(struct tcp_entry) + \
		    TASK_TABLE * sizeof(struct task_entry) + \
		    TASKS_MIN * TASK_PLACE + UDP_FAR_MIN * sizeof(struct udp_slot))

#define TX_MAPS (TX_SETS * sizeof(struct tx_set))
#define SLOW_MEMORY (SLOW_RING + SLOW_RING / 4) /* its pages are mapped twice, and counted */

_Static_assert(FIXED_MAPS + TX_MAPS + SLOW_MEMORY + sizeof(struct ext_ring) <= WATCH_MEMORY_FIXED,
	       "--memory's minimum");
_Static_assert(sizeof(struct cpu_state) <= WATCH_MEMORY_PER_CPU, "--memory's minimum by CPU");

/* Tasks and datagrams get as much each of the memory beyond the minimum. */
#define BEYOND_SHARE 32

static uint32_t places(uint64_t beyond, size_t size, uint32_t min, uint32_t max)
{
	uint64_t n = min + beyond / BEYOND_SHARE / size;

	return n < max ? n : max;
}

static int size_maps(struct watch_probe *probe, char *why, size_t size)
{
	struct watch_bpf *skel = probe->skel;
	uint64_t fixed = FIXED_MAPS + (uint64_t)probe->ncpus * sizeof(struct cpu_state);
	uint64_t want = probe->config.memory, rings;
	uint64_t least = WATCH_MEMORY_FIXED + probe->ncpus * WATCH_MEMORY_PER_CPU +
			 watch_arrivals_memory(probe);
	uint32_t tasks, datagrams;

	if (want < least) {
		snprintf(why, size, "--memory is too small: this machine's %u CPUs need %lluK",
			 probe->ncpus, (unsigned long long)least >> 10);
		return -ENOMEM;
	}
	tasks = places(want - least, TASK_PLACE, TASKS_MIN, TASKS_MAX);
	datagrams = places(want - least, sizeof(struct udp_slot), UDP_FAR_MIN, UDP_FAR_MAX);
	fixed += watch_arrivals_memory(probe) + (tasks - TASKS_MIN) * TASK_PLACE +
		 (datagrams - UDP_FAR_MIN) * sizeof(struct udp_slot);
	if (watch_asked(probe, EGRESS_STAGES))
		fixed += TX_MAPS;
	if (probe->config.slower_than_ns)
		fixed += SLOW_MEMORY;
	rings = (want - fixed) / sizeof(struct ext_ring);
	if (probe->config.by && rings > 1)
		rings /= 2;
	if (rings > EXT_MAX)
		rings = EXT_MAX;
	skel->rodata->ext_limit = rings;
	skel->rodata->udp_far_slots = datagrams;
	probe->memory = fixed + rings * sizeof(struct ext_ring);
	if (probe->config.by) {
		uint64_t groups = watch_groups_size(probe, want - probe->memory);

		if (!groups) {
			snprintf(why, size, "--memory is too small for --by: it needs 8M more than "
				 "without");
			return -ENOMEM;
		}
		probe->memory += groups;
	}
	if (watch_slow_size(probe) || watch_told_size(probe) ||
	    bpf_map__set_max_entries(skel->maps.cpus, probe->ncpus) ||
	    bpf_map__set_max_entries(skel->maps.tasks, tasks) ||
	    bpf_map__set_max_entries(skel->maps.udp_fars, datagrams) ||
	    bpf_map__set_max_entries(skel->maps.tx_sets,
				     watch_asked(probe, EGRESS_STAGES) ? TX_SETS : 1) ||
	    bpf_map__set_max_entries(skel->maps.ext_rings, rings) || watch_arrivals_size(probe))
		return -EINVAL;
	return 0;
}

void watch_short_cells(__u16 *cells, __u8 *shorter)
{
	shorter[0] = CELL_ZERO;
	for (uint32_t v = 1; v < SHORT_MIN; v++)
		shorter[v] = CELL_BUCKET + bucket_index(v);
	for (uint32_t i = 0; i < SHORT_ENTRIES; i++) {
		uint32_t first = SHORT_MIN + 8 * i, cell = bucket_index(first), carry = 0;

		for (uint32_t low = 1; low < 8 && !carry; low++)
			if (bucket_index(first + low) != cell)
				carry = 8 - low;
		cells[i] = 8 * (CELL_BUCKET + cell) + carry;
	}
}

/* Extremes as if nothing had been recorded. */
static void begin_rows(struct cpu_state *cpu)
{
	struct row *rows = &cpu->row[0][0][0];

	for (uint32_t i = 0; i < ROWS; i++)
		rows[i].latency.min = rows[i].step.min = UINT64_MAX;
}

static bool nothing_special(const struct watch_probe_config *c, uint32_t slots)
{
	const uint32_t need = 1U << SLOT_SOCKET | 1U << SLOT_ENQUEUED, no = 1U << SLOT_IP;

	return c->origin == ORIGIN_NONE && !c->pid && !c->ifname && !c->slower_than_ns &&
	       !c->messages && !c->by && !c->min_queue &&
	       (slots & (need | no)) == need;
}

/* Reasons are renumbered at will: before 6.2, the number of SKB_CONSUMED was NOT_SPECIFIED. */
static uint32_t reason_number(const char *name)
{
	int n = drop_reason_number(name);

	return n < 0 ? ~0U : (uint32_t)n;
}

static void settings(struct watch_probe *probe)
{
	const struct watch_probe_config *c = &probe->config;
	struct watch_bpf *skel = probe->skel;
	uint32_t mask = 0;
	const char *why;

	for (size_t i = 0; i < sizeof(slot_of) / sizeof(slot_of[0]); i++)
		if (c->stages & STAGE_BIT(slot_of[i].stage))
			mask |= 1U << slot_of[i].slot;
	watch_short_cells((__u16 *)skel->rodata->short_cells,
			  (__u8 *)skel->rodata->shorter_cells);
	skel->bss->test_port = NO_TEST_PORT;
	skel->rodata->slots = mask;
	skel->rodata->origin_asked = origin_of[c->origin];
	skel->rodata->filter_port = c->port;
	skel->rodata->filter_netns = c->netns_inode;
	skel->rodata->filter_cgroup = c->cgroup_id;
	skel->rodata->filter_level = c->cgroup_level;
	skel->rodata->filter_sock = c->port || c->netns || c->cgroup;
	skel->rodata->filter_tgid = c->pid;
	skel->rodata->link_notes = c->by & BY_WAY || (c->probe && c->netns);
	skel->rodata->hol = c->hol;
	skel->rodata->slower_than = c->messages ? 1 : c->slower_than_ns;
	skel->rodata->slow_too = c->slower_than_ns;
	skel->rodata->telling = c->messages;
	skel->rodata->requests = c->messages == MESSAGES_BY_REQUEST;
	skel->rodata->told_cast = c->messages && watch_can_cast();
	skel->rodata->telling_sends = watch_told_sends(probe);
	skel->rodata->uncovered = watch_counts_others(probe, &why);
	skel->rodata->min_queue = c->min_queue;
	skel->rodata->keep_way = c->pid || c->slower_than_ns || c->messages ||
				 !(mask & 1U << SLOT_ENQUEUED);
	if (probe->ifname[0]) {
		memcpy((void *)skel->rodata->filter_ifname, probe->ifname, sizeof(probe->ifname));
		memset((void *)skel->rodata->ifname_mask, 0xff, strlen(probe->ifname) + 1);
	}
	skel->rodata->drop_not_yet = reason_number("SKB_NOT_DROPPED_YET");
	skel->rodata->drop_consumed = reason_number("SKB_CONSUMED");
	skel->rodata->drop_unspecified = reason_number("NOT_SPECIFIED");
	skel->rodata->drop_cpu_backlog = reason_number("CPU_BACKLOG");
	skel->rodata->sockets_end = watch_bound_program(probe, "destroy_tp");
	skel->rodata->tasks_end = watch_bound_program(probe, "task_end_tp");
	skel->rodata->arrival_irq = watch_asked(probe, STAGE_BIT(STAGE_IRQ)) &&
				    watch_bound(probe, STAGE_IRQ, PROTO_ANY);
	skel->rodata->transport_udp = watch_bound(probe, STAGE_TRANSPORT, PROTO_UDP);
	skel->rodata->transport_tcp = watch_times_transport(probe);
	skel->rodata->send_udp = watch_sends_udp(probe, &why);
	skel->rodata->read_tcp = watch_bound(probe, STAGE_READ, PROTO_TCP);
	skel->rodata->read_udp = watch_bound(probe, STAGE_READ, PROTO_UDP);
	skel->rodata->sampling = watch_samples(probe);
	skel->rodata->can_cast = watch_samples(probe) && watch_can_cast();
	if (nothing_special(c, mask) && skel->rodata->read_tcp && skel->rodata->sockets_end &&
	    watch_bound_program(probe, "connect_tp"))
		skel->rodata->usual = watch_can_cast() ? USUAL : USUAL_OLDER;
}

static void select_program(struct watch_probe *probe, const char *name, enum hook_kind kind)
{
	struct bpf_program *p;

	p = watch_program(probe, name);
	bpf_program__set_autoload(p, true);
	if (kind == HOOK_NETFILTER) {
		bpf_program__set_type(p, NETFILTER_PROG_TYPE);
		bpf_program__set_expected_attach_type(p, NETFILTER_ATTACH_TYPE);
	}
}

static int select_programs(struct watch_probe *probe)
{
	struct bpf_program *p;
	bool tcp_closed_by_fexit = false;

	bpf_object__for_each_program(p, probe->obj)
		bpf_program__set_autoload(p, false);
	for (int i = 0; hooks[i].target; i++) {
		if (probe->status[i].state != HOOK_BOUND)
			continue;
		select_program(probe, hooks[i].program, hooks[i].kind);
		if (hooks[i].also_program)
			select_program(probe, hooks[i].also_program, hooks[i].kind);
		tcp_closed_by_fexit |= hooks[i].kind == HOOK_FEXIT;
	}
	if (tcp_closed_by_fexit)
		select_program(probe, "tcp_copied_tp", HOOK_TP_BTF);
	return watch_function_select(probe);
}

/* ---- attachment ---- */

/* The hook of another protocol behind it in the list has the same program: it is attached. */
static bool attached_for_other(const struct watch_probe *probe, int i)
{
	const struct hook *h = &hooks[i];

	for (int j = i + 1; hooks[j].target; j++)
		if (hooks[j].stage == h->stage && probe->status[j].state == HOOK_BOUND &&
		    !strcmp(hooks[j].program, h->program))
			return true;
	return false;
}

static int attach_cgroup(struct watch_probe *probe, struct bpf_program *p)
{
	int fd = host_cgroup2_open(), err;
	struct bpf_link *link;

	if (fd < 0)
		return fd;
	link = bpf_program__attach_cgroup(p, fd);
	close(fd);
	err = libbpf_get_error(link);
	if (!err)
		probe->links[probe->n_links++] = link;
	return err;
}

static int attach_program(struct watch_probe *probe, const struct hook *h, const char *name)
{
	struct bpf_program *p = watch_program(probe, name);
	struct bpf_link *link;
	int err;

	if (h->kind == HOOK_NETFILTER)
		return watch_cover(probe, h);
	if (h->kind == HOOK_CGROUP_INGRESS)
		return attach_cgroup(probe, p);
	link = bpf_program__attach(p);
	err = libbpf_get_error(link);
	if (!err)
		probe->links[probe->n_links++] = link;
	return err;
}

static void failed(struct hook_status *s, const struct hook *h, const char *what, int err)
{
	s->state = HOOK_FAILED;
	snprintf(s->why, sizeof(s->why), "%s %s: %s (%s)", hook_kind_name(h->kind), h->target, what,
		 strerror(-err));
}

static const char *not_attached(int err)
{
	return err == -EMFILE ? "can't be attached, as more files must be open than may be: raise "
				"the limit (ulimit -n)" : "can't be attached";
}

/*
 * Returns how many hooks failed: then others have to be chosen. The last on a packet's way comes
 * first: what is remembered at `enqueued` must not be read before somebody looks.
 */
static int attach(struct watch_probe *probe)
{
	struct function *f = watch_function(probe);
	int failures = 0, n = 0;

	while (hooks[n].target)
		n++;
	for (int i = n - 1; i >= 0; i--) {
		const struct hook *h = &hooks[i];
		int err;

		if (probe->status[i].state != HOOK_BOUND || attached_for_other(probe, i))
			continue;
		err = attach_program(probe, h, h->program);
		if (!err && h->also_program && strcmp(h->also_program, "returned_tp"))
			err = attach_program(probe, h, h->also_program);
		if (!err && h->kind == HOOK_FEXIT)
			err = attach_program(probe, h, "tcp_copied_tp");
		if (err) {
			failed(&probe->status[i], h, not_attached(err), err);
			failures++;
		}
	}
	if (f && !failures) {
		int err = attach_program(probe, &f->hook, f->hook.program);

		if (err) {
			failed(&f->status, &f->hook, not_attached(err), err);
			failures++;
		}
	}
	return failures;
}

/* ---- loading ---- */

/* The verifier then refuses each program that needs one of them. */
static void leave_out_maps(struct watch_probe *probe)
{
	for (size_t i = 0; i < probe->maps.n; i++) {
		const char *name = probe->maps.items[i].name;
		struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, name);

		if (map)
			bpf_map__set_autocreate(map, false);
	}
}

/* A map that the kernel refused costs only what needs it; -EAGAIN: to be loaded without it. */
static int drop_map(struct watch_probe *probe, int err)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, refusal_name());

	if (!map || map == probe->skel->maps.cpus || bpf_map__is_internal(map))
		return err;
	return refusals_add(&probe->maps, bpf_map__name(map), err);
}

/* Why the verifier refuses it: for want of a map, if there is one that the kernel refuses. */
static void say_refused(const struct watch_probe *probe, char *text, size_t size)
{
	const char *name = probe->maps.n ? probe->maps.items[probe->maps.n - 1].name : "";
	const struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, name);

	if (map)
		snprintf(text, size, "the program is refused, as its maps of type %s are",
			 libbpf_bpf_map_type_str(bpf_map__type(map)));
	else
		snprintf(text, size, "the program is refused%s", refusal_cause(-EPERM));
}

/* A read that ends by fexit is begun by another program. */
static bool uses_program(const struct hook *h, const char *program)
{
	return watch_is_program(h->program, program) ||
	       (h->also_program && watch_is_program(h->also_program, program)) ||
	       (h->kind == HOOK_FEXIT && watch_is_program("tcp_copied_tp", program));
}

/* The program that the verifier refused gives way to the next hook of its ladder. */
static int drop_refused(struct watch_probe *probe, int err)
{
	char what[128];

	struct function *f = watch_function(probe);
	const char *refused_program = refusal_name();
	int dropped = 0;

	say_refused(probe, what, sizeof(what));
	if (f && !strcmp(f->hook.program, refused_program)) {
		failed(&f->status, &f->hook, what, err);
		return 1;
	}
	for (int i = 0; hooks[i].target && refused_program[0]; i++) {
		const struct hook *h = &hooks[i];

		if (probe->status[i].state != HOOK_BOUND || !uses_program(h, refused_program))
			continue;
		failed(&probe->status[i], h, what, err);
		dropped++;
	}
	return dropped;
}

static int map_cpus(struct watch_probe *probe)
{
	void *p = mmap(NULL, probe->ncpus * sizeof(struct cpu_state), PROT_READ | PROT_WRITE,
		       MAP_SHARED, bpf_map__fd(probe->skel->maps.cpus), 0);

	if (p == MAP_FAILED)
		return -errno;
	probe->cpus = p;
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++)
		begin_rows(watch_cpu(probe, cpu));
	return 0;
}

void watch_detach(struct watch_probe *probe)
{
	for (uint32_t i = 0; i < probe->n_links; i++)
		bpf_link__destroy(probe->links[i]);
	probe->n_links = 0;
	watch_uncover(probe);
}

void watch_unload(struct watch_probe *probe)
{
	watch_detach(probe);
	watch_groups_close(probe);
	watch_arrivals_close(probe);
	if (probe->cpus)
		munmap(probe->cpus, probe->ncpus * sizeof(struct cpu_state));
	probe->cpus = NULL;
	watch_bpf__destroy(probe->skel);
	probe->skel = NULL;
}

/* libbpf looks there for functions that a kernel has not: bpf_cast_to_kern_ctx() before 6.2. */
static bool hides_modules(void)
{
	__u32 id;
	int fd;

	if (bpf_btf_get_next_id(0, &id))
		return errno != ENOENT;
	fd = bpf_btf_get_fd_by_id(id);
	if (fd < 0)
		return true;
	close(fd);
	return false;
}

static void say_not_loaded(int err, char *why, size_t size)
{
	if (refusal_name()[0])
		snprintf(why, size, "can't load the programs: this kernel refuses %s (%s)",
			 refusal_name(), strerror(-err));
	else if (!watch_can_cast() && hides_modules())
		snprintf(why, size, "can't load the programs: before Linux 6.2 that reads the "
			 "types of kernel modules (BTF), which is refused here: it takes "
			 "CAP_SYS_ADMIN");
	else
		snprintf(why, size, "can't load the programs: %s", strerror(-err));
}

/* One attempt with the hooks chosen. 0, -EAGAIN: choose again, or an error. */
static int load_once(struct watch_probe *probe, char *why, size_t size)
{
	int err;

	watch_choose(probe);
	watch_function_choose(probe);
	probe->skel = watch_bpf__open();
	if (!probe->skel) {
		snprintf(why, size, "can't open the programs: %s", strerror(errno));
		return -errno;
	}
	probe->obj = probe->skel->obj;
	err = size_maps(probe, why, size);
	if (err)
		return err;
	settings(probe);
	refusal_forget();
	err = select_programs(probe);
	leave_out_maps(probe);
	if (!err)
		err = watch_bpf__load(probe->skel);
	if (err && (drop_refused(probe, err) || drop_map(probe, err) == -EAGAIN))
		return -EAGAIN;
	if (!err)
		err = map_cpus(probe);
	if (!err)
		err = watch_groups_open(probe);
	if (!err)
		err = watch_arrivals_open(probe);
	if (err) {
		say_not_loaded(err, why, size);
		return err;
	}
	clock_sleep_until(clock_system(), probe->stamps_from_ns);
	if (attach(probe))
		return -EAGAIN;
	return 0;
}

/* 0: loaded, and proven if it can be. -EAGAIN: choose again. */
static int load_and_prove(struct watch_probe *probe, bool stats, char *why, size_t size)
{
	int err = load_once(probe, why, size);

	if (!err)
		err = watch_essential(probe, why, size);
	if (err)
		return err;
	watch_publish_clock(probe, NULL);
	if (!stats)
		return 0;
	err = watch_selftest(probe);
	if (err > 0)
		return -EAGAIN;
	if (!err)
		watch_calibrate(probe);
	else
		snprintf(probe->cost.why, sizeof(probe->cost.why),
			 "the self-test needs a loopback interface that is up");
	return 0;
}

int watch_load(struct watch_probe *probe, char *why, size_t size)
{
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), err = -EAGAIN;
	bool on = stats >= 0 || prog_stats_are_on();

	if (!on)
		snprintf(probe->cost.why, sizeof(probe->cost.why), "the self-test, which times the "
			 "programs, needs CAP_SYS_ADMIN or kernel.bpf_stats_enabled=1");
	refusal_listen();
	for (int i = 0; i < HOOKS_MAX && err == -EAGAIN; i++) {
		watch_unload(probe);
		err = load_and_prove(probe, on, why, size);
	}
	if (stats >= 0)
		close(stats);
	if (err == -EAGAIN)
		watch_essential(probe, why, size);
	/* Then one program after the other is refused, which says less. */
	if (err && !libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_loop, NULL))
		snprintf(why, size, "this kernel has no bpf_loop(): Linux 5.17 or newer is needed");
	if (!err && probe->config.max_overhead > 0 && !watch_cost_known(probe)) {
		snprintf(why, size, "--max-overhead: the programs' own cost isn't known: %s",
			 probe->cost.why);
		err = -ENOTSUP;
	}
	if (!err)
		watch_sample(probe, probe->config.one_in ? probe->config.one_in : 1);
	return err;
}
