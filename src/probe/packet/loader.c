/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the watch programs: settings, hooks, sizes of maps, attachment. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock/clock.h"
#include "host/cgroup.h"
#include "probe/packet/deltas.h"
#include "probe/common/netfilter.h"
#include "probe/common/prog_stats.h"
#include "probe/common/refusal.h"
#include "probe/packet/pkt_internal.h"
#include "stats/buckets.h"
#include "bpf/watch.skel.h"

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

_Static_assert(FIXED_MAPS + TX_MAPS + SLOW_MEMORY + sizeof(struct ext_ring) <= PKT_MEMORY_FIXED,
	       "--memory's minimum");
_Static_assert(sizeof(struct cpu_state) <= PKT_MEMORY_PER_CPU, "--memory's minimum by CPU");

/* Tasks and datagrams get as much each of the memory beyond the minimum. */
#define BEYOND_SHARE 32

static uint32_t places(uint64_t beyond, size_t size, uint32_t min, uint32_t max)
{
	uint64_t n = min + beyond / BEYOND_SHARE / size;

	return n < max ? n : max;
}

static int size_maps(struct pkt_probe *probe, char *why, size_t size)
{
	struct watch_bpf *skel = probe->skel;
	uint64_t fixed = FIXED_MAPS + (uint64_t)probe->ncpus * sizeof(struct cpu_state);
	uint64_t want = probe->config.memory, rings;
	uint64_t least = PKT_MEMORY_FIXED + probe->ncpus * PKT_MEMORY_PER_CPU +
			 pkt_arrivals_memory(probe);
	uint32_t tasks, datagrams;

	if (want < least) {
		snprintf(why, size, "--memory is too small: this machine's %u CPUs need %lluK",
			 probe->ncpus, (unsigned long long)least >> 10);
		return -ENOMEM;
	}
	tasks = places(want - least, TASK_PLACE, TASKS_MIN, TASKS_MAX);
	datagrams = places(want - least, sizeof(struct udp_slot), UDP_FAR_MIN, UDP_FAR_MAX);
	fixed += pkt_arrivals_memory(probe) + (tasks - TASKS_MIN) * TASK_PLACE +
		 (datagrams - UDP_FAR_MIN) * sizeof(struct udp_slot);
	if (pkt_asked(probe, EGRESS_STAGES))
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
		uint64_t groups = pkt_groups_size(probe, want - probe->memory);

		if (!groups) {
			snprintf(why, size, "--memory is too small for --by: it needs 8M more than "
				 "without");
			return -ENOMEM;
		}
		probe->memory += groups;
	}
	if (pkt_slow_size(probe) || pkt_told_size(probe) ||
	    bpf_map__set_max_entries(skel->maps.cpus, probe->ncpus) ||
	    bpf_map__set_max_entries(skel->maps.tasks, tasks) ||
	    bpf_map__set_max_entries(skel->maps.udp_fars, datagrams) ||
	    bpf_map__set_max_entries(skel->maps.tx_sets,
				     pkt_asked(probe, EGRESS_STAGES) ? TX_SETS : 1) ||
	    bpf_map__set_max_entries(skel->maps.ext_rings, rings) || pkt_arrivals_size(probe))
		return -EINVAL;
	return 0;
}

void pkt_short_cells(__u16 *cells, __u8 *shorter)
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
	struct stage_row *rows = &cpu->row[0][0][0];

	for (uint32_t i = 0; i < ROWS; i++)
		rows[i].latency.min = rows[i].step.min = UINT64_MAX;
}

static bool nothing_special(const struct pkt_probe_config *c, uint32_t slots)
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

/* The first slot of each stage that is asked for, as a mask. */
static uint32_t slots_asked(uint32_t stages)
{
	uint32_t slots = 0;

	for (uint32_t slot = 0; slot < SLOT_MAX; slot++) {
		uint32_t stage = STAGE_BIT(slot_meanings[slot].stage);

		slots |= stages & stage ? 1U << slot : 0;
		stages &= ~stage;
	}
	return slots;
}

static void settings(struct pkt_probe *probe)
{
	const struct pkt_probe_config *c = &probe->config;
	struct watch_bpf *skel = probe->skel;
	uint32_t mask = slots_asked(c->stages);
	const char *why;

	pkt_short_cells((__u16 *)skel->rodata->short_cells,
			  (__u8 *)skel->rodata->shorter_cells);
	skel->bss->test_port = NO_TEST_PORT;
	skel->rodata->slots = mask;
	skel->rodata->origin_option = origin_of[c->origin];
	skel->rodata->filter_port = c->port;
	skel->rodata->filter_netns = c->netns_inode;
	skel->rodata->filter_cgroup = c->cgroup_id;
	skel->rodata->filter_level = c->cgroup_level;
	skel->rodata->filter_sock = c->port || c->netns || c->cgroup;
	skel->rodata->filter_tgid = c->pid;
	skel->rodata->uses_link_traits = c->by & BY_PACKET_TRAIT || (c->probe && c->netns);
	skel->rodata->hol = c->hol;
	skel->rodata->slower_than = c->messages ? 1 : c->slower_than_ns;
	skel->rodata->slow_too = c->slower_than_ns;
	skel->rodata->recording = c->messages;
	skel->rodata->requests = c->messages == MESSAGES_BY_REQUEST;
	skel->rodata->told_cast = c->messages && pkt_can_cast();
	skel->rodata->telling_sends = pkt_told_sends(probe);
	skel->rodata->uncovered = pkt_counts_others(probe, &why);
	skel->rodata->min_queue = c->min_queue;
	skel->rodata->keep_times = c->pid || c->slower_than_ns || c->messages ||
				 !(mask & 1U << SLOT_ENQUEUED);
	if (probe->ifname[0]) {
		memcpy((void *)skel->rodata->filter_ifname, probe->ifname, sizeof(probe->ifname));
		memset((void *)skel->rodata->ifname_mask, 0xff, strlen(probe->ifname) + 1);
	}
	skel->rodata->drop_not_yet = reason_number("SKB_NOT_DROPPED_YET");
	skel->rodata->drop_consumed = reason_number("SKB_CONSUMED");
	skel->rodata->drop_unspecified = reason_number("NOT_SPECIFIED");
	skel->rodata->drop_cpu_backlog = reason_number("CPU_BACKLOG");
	skel->rodata->sockets_end = pkt_has_role(probe, ROLE_SOCKET_END);
	skel->rodata->tasks_end = pkt_has_role(probe, ROLE_TASK_END);
	skel->rodata->arrival_irq = pkt_asked(probe, STAGE_BIT(STAGE_IRQ)) &&
				    pkt_bound(probe, STAGE_IRQ, PROTO_ANY);
	skel->rodata->transport_udp = pkt_bound(probe, STAGE_TRANSPORT, PROTO_UDP);
	skel->rodata->transport_tcp = pkt_times_transport(probe);
	skel->rodata->send_udp = pkt_sends_udp(probe, &why);
	skel->rodata->read_tcp = pkt_bound(probe, STAGE_READ, PROTO_TCP);
	skel->rodata->read_udp = pkt_bound(probe, STAGE_READ, PROTO_UDP);
	skel->rodata->sampling = pkt_samples(probe);
	skel->rodata->can_cast = pkt_samples(probe) && pkt_can_cast();
	if (nothing_special(c, mask) && skel->rodata->read_tcp && skel->rodata->sockets_end &&
	    pkt_has_role(probe, ROLE_CONNECT))
		skel->rodata->fast_path = pkt_can_cast() ? FAST_PATH : FAST_PATH_HELPER;
}

static bool is_tracing(enum hook_kind kind)
{
	return kind == HOOK_TP_BTF || kind == HOOK_FENTRY || kind == HOOK_FEXIT;
}

/*
 * Selects a program for loading. `target` replaces the target in its SEC(); NULL keeps that one.
 * 0 or -errno.
 */
static int select_program(struct bpf_program *p, enum hook_kind kind, const char *target)
{
	bpf_program__set_autoload(p, true);
	if (kind == HOOK_NETFILTER) {
		bpf_program__set_type(p, NETFILTER_PROG_TYPE);
		bpf_program__set_expected_attach_type(p, NETFILTER_ATTACH_TYPE);
	}
	return target && is_tracing(kind) ? bpf_program__set_attach_target(p, 0, target) : 0;
}

static int select_hook(const struct pkt_probe *probe, const struct hook *h)
{
	struct bpf_program *second = pkt_second_program(probe, h);
	int err = select_program(pkt_program(probe, h), h->kind, h->target);

	return err || !second ? err : select_program(second, h->kind, h->also);
}

static int select_programs(struct pkt_probe *probe)
{
	const struct function *f = pkt_function(probe);
	struct bpf_program *p;
	int err = 0;

	bpf_object__for_each_program(p, probe->obj)
		bpf_program__set_autoload(p, false);
	for (int i = 0; hooks[i].target && !err; i++)
		if (probe->status[i].state == HOOK_BOUND)
			err = select_hook(probe, &hooks[i]);
	if (!f || err)
		return err;
	probe->skel->rodata->function_arg = f->arg;
	return select_hook(probe, &f->hook);
}

/* ---- attachment ---- */

static struct bpf_link *attach_cgroup(struct bpf_program *p)
{
	int fd = host_cgroup2_open();
	struct bpf_link *link;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	link = bpf_program__attach_cgroup(p, fd);
	close(fd);
	return link;
}

static bool is_attached(const struct pkt_probe *probe, const struct bpf_program *p)
{
	for (uint32_t i = 0; i < probe->n_attached; i++)
		if (probe->attached[i].program == p)
			return true;
	return false;
}

static int attach_program(struct pkt_probe *probe, const struct hook *h, struct bpf_program *p)
{
	struct attachment a = { .program = p, .cost = h->cost };
	int err = 0;

	if (is_attached(probe, p)) /* by another protocol's hook */
		return 0;
	if (h->kind == HOOK_NETFILTER)
		err = pkt_cover(probe, h);
	else
		a.link = h->kind == HOOK_CGROUP_INGRESS ? attach_cgroup(p) : bpf_program__attach(p);
	if (h->kind != HOOK_NETFILTER && !a.link)
		err = -errno;
	if (!err)
		probe->attached[probe->n_attached++] = a;
	return err;
}

static int attach_hook(struct pkt_probe *probe, const struct hook *h)
{
	struct bpf_program *second = pkt_second_program(probe, h);
	int err = attach_program(probe, h, pkt_program(probe, h));

	return err || !second ? err : attach_program(probe, h, second);
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

/* Returns 1 if the hook failed: then another has to be chosen. */
static int attach_or_fail(struct pkt_probe *probe, const struct hook *h, struct hook_status *s)
{
	int err = attach_hook(probe, h);

	if (err)
		failed(s, h, not_attached(err), err);
	return err != 0;
}

/*
 * Returns how many hooks failed. The last on a packet's way comes first: what is remembered at
 * `enqueued` must not be read before somebody looks.
 */
static int attach(struct pkt_probe *probe)
{
	struct function *f = pkt_function(probe);
	int failures = 0, n = 0;

	while (hooks[n].target)
		n++;
	for (int i = n - 1; i >= 0; i--)
		if (probe->status[i].state == HOOK_BOUND)
			failures += attach_or_fail(probe, &hooks[i], &probe->status[i]);
	if (f && !failures)
		failures += attach_or_fail(probe, &f->hook, &f->status);
	return failures;
}

/* ---- loading ---- */

/* The verifier then refuses each program that needs one of them. */
static void leave_out_maps(struct pkt_probe *probe)
{
	for (size_t i = 0; i < probe->maps.n; i++) {
		const char *name = probe->maps.items[i].name;
		struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, name);

		if (map)
			bpf_map__set_autocreate(map, false);
	}
}

/* A map that the kernel refused costs only what needs it; -EAGAIN: to be loaded without it. */
static int drop_map(struct pkt_probe *probe, int err)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, refusal_name());

	if (!map || map == probe->skel->maps.cpus || bpf_map__is_internal(map))
		return err;
	return refusals_add(&probe->maps, bpf_map__name(map), err);
}

/* Why the verifier refuses it: for want of a map, if there is one that the kernel refuses. */
static void say_refused(const struct pkt_probe *probe, char *text, size_t size)
{
	const char *name = probe->maps.n ? probe->maps.items[probe->maps.n - 1].name : "";
	const struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, name);

	if (map)
		snprintf(text, size, "the program is refused, as its maps of type %s are",
			 libbpf_bpf_map_type_str(bpf_map__type(map)));
	else
		snprintf(text, size, "the program is refused%s", refusal_cause(-EPERM));
}

/* The hook gives way to the next of its ladder, if the verifier refused a program of it. */
static int fail_refused(const struct pkt_probe *probe, const struct hook *h,
			struct hook_status *s, const struct bpf_program *refused, int err)
{
	char what[128];

	if (s->state != HOOK_BOUND ||
	    (pkt_program(probe, h) != refused && pkt_second_program(probe, h) != refused))
		return 0;
	say_refused(probe, what, sizeof(what));
	failed(s, h, what, err);
	return 1;
}

/* Returns the number of hooks that used the refused program; each of them is failed. */
static int drop_refused(struct pkt_probe *probe, int err)
{
	const struct bpf_program *refused = bpf_object__find_program_by_name(probe->obj,
									     refusal_name());
	struct function *f = pkt_function(probe);
	int dropped = 0;

	if (!refused)
		return 0;
	for (int i = 0; hooks[i].target; i++)
		dropped += fail_refused(probe, &hooks[i], &probe->status[i], refused, err);
	return f ? dropped + fail_refused(probe, &f->hook, &f->status, refused, err) : dropped;
}

static int map_cpus(struct pkt_probe *probe)
{
	void *p = mmap(NULL, probe->ncpus * sizeof(struct cpu_state), PROT_READ | PROT_WRITE,
		       MAP_SHARED, bpf_map__fd(probe->skel->maps.cpus), 0);

	if (p == MAP_FAILED)
		return -errno;
	probe->cpus = p;
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++)
		begin_rows(pkt_cpu(probe, cpu));
	return 0;
}

void pkt_detach(struct pkt_probe *probe)
{
	for (uint32_t i = 0; i < probe->n_attached; i++) {
		bpf_link__destroy(probe->attached[i].link);
		probe->attached[i].link = NULL;
	}
	pkt_uncover(probe);
}

void pkt_unload(struct pkt_probe *probe)
{
	pkt_detach(probe);
	pkt_groups_close(probe);
	pkt_arrivals_close(probe);
	if (probe->cpus)
		munmap(probe->cpus, probe->ncpus * sizeof(struct cpu_state));
	probe->cpus = NULL;
	watch_bpf__destroy(probe->skel);
	probe->skel = NULL;
	probe->n_attached = 0;
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
	else if (!pkt_can_cast() && hides_modules())
		snprintf(why, size, "can't load the programs: before Linux 6.2 that reads the "
			 "types of kernel modules (BTF), which is refused here: it takes "
			 "CAP_SYS_ADMIN");
	else
		snprintf(why, size, "can't load the programs: %s", strerror(-err));
}

/* One attempt with the hooks chosen. 0, -EAGAIN: choose again, or an error. */
static int load_once(struct pkt_probe *probe, char *why, size_t size)
{
	int err;

	pkt_choose(probe);
	pkt_function_choose(probe);
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
		err = pkt_groups_open(probe);
	if (!err)
		err = pkt_arrivals_open(probe);
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
static int load_and_prove(struct pkt_probe *probe, bool stats, char *why, size_t size)
{
	int err = load_once(probe, why, size);

	if (!err)
		err = pkt_essential(probe, why, size);
	if (err)
		return err;
	pkt_publish_clock(probe, NULL);
	if (!stats)
		return 0;
	err = pkt_selftest(probe);
	if (err > 0)
		return -EAGAIN;
	if (!err)
		pkt_calibrate(probe);
	else
		snprintf(probe->cost.why, sizeof(probe->cost.why),
			 "the self-test needs a loopback interface that is up");
	return 0;
}

int pkt_load(struct pkt_probe *probe, char *why, size_t size)
{
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), err = -EAGAIN;
	bool on = stats >= 0 || prog_stats_are_on();

	if (!on)
		snprintf(probe->cost.why, sizeof(probe->cost.why), "the self-test, which times the "
			 "programs, needs CAP_SYS_ADMIN or kernel.bpf_stats_enabled=1");
	refusal_listen();
	for (int i = 0; i < HOOKS_MAX && err == -EAGAIN; i++) {
		pkt_unload(probe);
		err = load_and_prove(probe, on, why, size);
	}
	if (stats >= 0)
		close(stats);
	if (err == -EAGAIN)
		pkt_essential(probe, why, size);
	/* Then one program after the other is refused, which says less. */
	if (err && !libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_loop, NULL))
		snprintf(why, size, "this kernel has no bpf_loop(): Linux 5.17 or newer is needed");
	if (!err && probe->config.max_overhead > 0 && !pkt_cost_known(probe)) {
		snprintf(why, size, "--max-overhead: the programs' own cost isn't known: %s",
			 probe->cost.why);
		err = -ENOTSUP;
	}
	if (!err)
		pkt_sample(probe, probe->config.one_in ? probe->config.one_in : 1);
	return err;
}
