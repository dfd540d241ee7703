/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the programs of watch.bpf.c: settings, sizes of maps, hooks, attachment. */
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
#include "probe/common/kernel.h"
#include "probe/common/netfilter.h"
#include "probe/common/prog_stats.h"
#include "probe/common/refusal.h"
#include "probe/packet/cost.h"
#include "probe/packet/deltas.h"
#include "probe/packet/drop_reason.h"
#include "probe/packet/hook_select.h"
#include "probe/packet/messages.h"
#include "probe/packet/netns_attach.h"
#include "probe/packet/pkt_internal.h"
#include "stats/buckets.h"
#include "bpf/watch.skel.h"

static const uint32_t origin_of[ORIGIN_MAX] = {
	[ORIGIN_NONE] = ROW_ORIGINS,  [ORIGIN_LINK] = ROW_LINK,     [ORIGIN_STACK] = ROW_STACK,
	[ORIGIN_DELIVER] = ROW_DELIVER, [ORIGIN_SENDER] = ROW_SENDER,
};

/* ---- settings and sizes ---- */

/*
 * Bytes of the map of culprits (tasks that held a CPU while readers waited), of settings, and of
 * the kernel's overhead per map. bench/scrape checks them.
 */
#define SMALL_MAPS (160ULL << 10)

#define TASK_PLACE (sizeof(struct task_state) + TASK_OVERHEAD)

#define FIXED_MAPS (SMALL_MAPS + LINK_SETS * 2ULL * (sizeof(struct link_entry) + 8) + \
		    TX_SETS * 2ULL * 4 + TCP_TABLE * sizeof(struct tcp_entry) + \
		    TASK_TABLE * sizeof(struct task_entry) + \
		    TASKS_MIN * TASK_PLACE + UDP_FAR_MIN * sizeof(struct udp_slot))

#define TX_MAPS (TX_SETS * sizeof(struct tx_set))
/* bytes of the ring of slow messages, with the kernel's own pages */
#define SLOW_MEMORY (SLOW_RING + SLOW_RING / 4)

_Static_assert(FIXED_MAPS + TX_MAPS + SLOW_MEMORY + sizeof(struct ext_ring) <= PKT_MEMORY_FIXED,
	       "--memory's minimum");
_Static_assert(sizeof(struct cpu_state) <= PKT_MEMORY_PER_CPU, "--memory's minimum by CPU");

/*
 * Two maps, of tasks and of datagrams, each get 1/BEYOND_SHARE of the memory that --memory permits
 * beyond the minimum.
 */
#define BEYOND_SHARE 32

static uint32_t loader_map_entries(uint64_t beyond, size_t size, uint32_t min, uint32_t max)
{
	uint64_t n = min + beyond / BEYOND_SHARE / size;

	return n < max ? n : max;
}

static int loader_size_maps(struct pkt_probe *probe, char *why, size_t size)
{
	struct watch_bpf *skel = probe->skel;
	uint64_t fixed = FIXED_MAPS + (uint64_t)probe->ncpus * sizeof(struct cpu_state);
	uint64_t want = probe->config.memory, rings;
	uint64_t least = PKT_MEMORY_FIXED + probe->ncpus * PKT_MEMORY_PER_CPU +
			 pkt_irq_stats_memory(probe);
	uint32_t tasks, datagrams;

	if (want < least) {
		snprintf(why, size, "--memory is too small: %u CPUs need at least %lluK",
			 probe->ncpus, (unsigned long long)least >> 10);
		return -ENOMEM;
	}
	tasks = loader_map_entries(want - least, TASK_PLACE, TASKS_MIN, TASKS_MAX);
	datagrams =
		loader_map_entries(want - least, sizeof(struct udp_slot), UDP_FAR_MIN, UDP_FAR_MAX);
	fixed += pkt_irq_stats_memory(probe) + (tasks - TASKS_MIN) * TASK_PLACE +
		 (datagrams - UDP_FAR_MIN) * sizeof(struct udp_slot);
	if (pkt_stages_selected(probe, EGRESS_STAGES))
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
		uint64_t groups = pkt_groups_set_size(probe, want - probe->memory);

		if (!groups) {
			snprintf(why, size, "--memory is too small for --by, which needs 8M more");
			return -ENOMEM;
		}
		probe->memory += groups;
	}
	if (pkt_slow_set_size(probe) || pkt_messages_set_size(probe) ||
	    bpf_map__set_max_entries(skel->maps.cpus, probe->ncpus) ||
	    bpf_map__set_max_entries(skel->maps.tasks, tasks) ||
	    bpf_map__set_max_entries(skel->maps.udp_fars, datagrams) ||
	    bpf_map__set_max_entries(skel->maps.tx_sets,
				     pkt_stages_selected(probe, EGRESS_STAGES) ? TX_SETS : 1) ||
	    bpf_map__set_max_entries(skel->maps.ext_rings, rings) || pkt_irq_stats_set_size(probe))
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

/* Sets the minimum of each histogram in cpu_state.row to ~0; the maximum is 0, as mapped. */
static void loader_init_rows(struct cpu_state *cpu)
{
	struct stage_row *rows = &cpu->row[0][0][0];

	for (uint32_t i = 0; i < ROWS; i++)
		rows[i].latency.min = rows[i].step.min = UINT64_MAX;
}

static bool loader_is_fast_path(const struct pkt_probe_config *c, uint32_t slots)
{
	const uint32_t need = 1U << SLOT_SOCKET | 1U << SLOT_ENQUEUED, no = 1U << SLOT_IP;

	return c->origin == ORIGIN_NONE && !c->pid && !c->ifname && !c->slower_than_ns &&
	       !c->messages && !c->by && !c->min_queue &&
	       (slots & (need | no)) == need;
}

/* Returns a drop reason's number or ~0. Before Linux 6.2, SKB_CONSUMED's was NOT_SPECIFIED's. */
static uint32_t reason_number(const char *name)
{
	int n = drop_reason_number(name);

	return n < 0 ? ~0U : (uint32_t)n;
}

/*
 * Returns a mask of 1 << slot with the first slot of each selected stage. A slot is a stage, or a
 * part of a stage, with rows of histograms of its own.
 */
static uint32_t loader_selected_slots(uint32_t stages)
{
	uint32_t slots = 0;

	for (uint32_t slot = 0; slot < SLOT_MAX; slot++) {
		uint32_t stage = STAGE_BIT(slot_meanings[slot].stage);

		slots |= stages & stage ? 1U << slot : 0;
		stages &= ~stage;
	}
	return slots;
}

static void loader_set_rodata(struct pkt_probe *probe)
{
	const struct pkt_probe_config *c = &probe->config;
	struct watch_bpf *skel = probe->skel;
	uint32_t mask = loader_selected_slots(c->stages);
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
	skel->rodata->msg_can_cast = c->messages && kernel_can_cast();
	skel->rodata->record_sends = pkt_messages_has_sends(probe);
	skel->rodata->uncovered = pkt_counts_other_traffic(probe, &why);
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
	skel->rodata->sockets_end = pkt_role_is_bound(probe, ROLE_SOCKET_END);
	skel->rodata->tasks_end = pkt_role_is_bound(probe, ROLE_TASK_END);
	skel->rodata->arrival_irq = pkt_stages_selected(probe, STAGE_BIT(STAGE_IRQ)) &&
				    pkt_stage_is_bound(probe, STAGE_IRQ, PROTO_ANY);
	skel->rodata->transport_udp = pkt_stage_is_bound(probe, STAGE_TRANSPORT, PROTO_UDP);
	skel->rodata->transport_tcp = pkt_times_transport(probe);
	skel->rodata->send_udp = pkt_udp_sends_bound(probe, &why);
	skel->rodata->read_tcp = pkt_stage_is_bound(probe, STAGE_READ, PROTO_TCP);
	skel->rodata->read_udp = pkt_stage_is_bound(probe, STAGE_READ, PROTO_UDP);
	skel->rodata->sampling = pkt_samples(probe);
	skel->rodata->can_cast = pkt_samples(probe) && kernel_can_cast();
	if (loader_is_fast_path(c, mask) && skel->rodata->read_tcp && skel->rodata->sockets_end &&
	    pkt_role_is_bound(probe, ROLE_CONNECT))
		skel->rodata->fast_path = kernel_can_cast() ? FAST_PATH : FAST_PATH_HELPER;
}

static int select_hook(const struct pkt_probe *probe, const struct pkt_hook *h)
{
	struct bpf_program *second = pkt_find_second_program(probe, h);
	int err = hook_select_program(pkt_find_program(probe, h), h->at.kind, h->at.target);

	return err || !second ? err : hook_select_program(second, h->at.kind, h->at.also);
}

static int select_programs(struct pkt_probe *probe)
{
	const struct function *f = pkt_function_bound(probe);
	struct bpf_program *p;
	int err = 0;

	bpf_object__for_each_program(p, probe->obj)
		bpf_program__set_autoload(p, false);
	for (int i = 0; pkt_hooks[i].at.target && !err; i++)
		if (probe->status[i].state == HOOK_BOUND)
			err = select_hook(probe, &pkt_hooks[i]);
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

static int attach_program(struct pkt_probe *probe, const struct pkt_hook *h, struct bpf_program *p)
{
	struct attachment a = { .program = p, .cost = h->cost };
	int err = 0;

	if (is_attached(probe, p)) /* attached already, for another protocol */
		return 0;
	if (h->at.kind == HOOK_NETFILTER)
		err = pkt_netns_attach(probe, h);
	else
		a.link = h->at.kind == HOOK_CGROUP_INGRESS ? attach_cgroup(p)
							   : bpf_program__attach(p);
	if (h->at.kind != HOOK_NETFILTER && !a.link)
		err = -errno;
	if (!err)
		probe->attached[probe->n_attached++] = a;
	return err;
}

static int attach_hook(struct pkt_probe *probe, const struct pkt_hook *h)
{
	struct bpf_program *second = pkt_find_second_program(probe, h);
	int err = attach_program(probe, h, pkt_find_program(probe, h));

	return err || !second ? err : attach_program(probe, h, second);
}

static void loader_fail_hook(struct hook_status *s, const struct pkt_hook *h, const char *what,
			     int err)
{
	s->state = HOOK_FAILED;
	snprintf(s->why, sizeof(s->why), "%s %s: %s (%s)", hook_kind_name(h->at.kind),
		 h->at.target, what, strerror(-err));
}

static const char *loader_attach_error(int err)
{
	return err == -EMFILE ? "cannot be attached: raise the limit of open files, ulimit -n"
			      : "cannot be attached";
}

/* Attaches a hook. Returns 1 if that failed and another hook has to be selected, else 0. */
static int attach_or_fail(struct pkt_probe *probe, const struct pkt_hook *h, struct hook_status *s)
{
	int err = attach_hook(probe, h);

	if (err)
		loader_fail_hook(s, h, loader_attach_error(err), err);
	return err != 0;
}

/*
 * Returns how many hooks failed. Attaches the last hook on a packet's path first, so that the
 * program that reads a record is attached before the program that writes it.
 */
static int loader_attach(struct pkt_probe *probe)
{
	struct function *f = pkt_function_bound(probe);
	int failures = 0, n = 0;

	while (pkt_hooks[n].at.target)
		n++;
	for (int i = n - 1; i >= 0; i--)
		if (probe->status[i].state == HOOK_BOUND)
			failures += attach_or_fail(probe, &pkt_hooks[i], &probe->status[i]);
	if (f && !failures)
		failures += attach_or_fail(probe, &f->hook, &f->status);
	return failures;
}

/* ---- loading ---- */

/* Skips the maps that the kernel refused; the verifier then refuses each program that needs one. */
static void loader_skip_refused_maps(struct pkt_probe *probe)
{
	for (size_t i = 0; i < probe->maps.n; i++) {
		const char *name = probe->maps.items[i].name;
		struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, name);

		if (map)
			bpf_map__set_autocreate(map, false);
	}
}

/* Records a map that the kernel refused. Returns -EAGAIN to load without it, else `err`. */
static int loader_drop_map(struct pkt_probe *probe, int err)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, refusal_name());

	if (!map || map == probe->skel->maps.cpus || bpf_map__is_internal(map))
		return err;
	return refusals_add(&probe->maps, bpf_map__name(map), err);
}

/* Describes why a program was refused: because of the last map that the kernel refused, if any. */
static void loader_describe_refusal(const struct pkt_probe *probe, char *text, size_t size)
{
	const char *name = probe->maps.n ? probe->maps.items[probe->maps.n - 1].name : "";
	const struct bpf_map *map = bpf_object__find_map_by_name(probe->obj, name);

	if (map)
		snprintf(text, size,
			 "the kernel refuses the program, as it refuses its maps of type %s",
			 libbpf_bpf_map_type_str(bpf_map__type(map)));
	else
		snprintf(text, size, "the kernel refuses the program%s", refusal_cause(-EPERM));
}

/* Fails a hook whose program was refused; another hook of its stage can be selected then. */
static int loader_fail_refused(const struct pkt_probe *probe, const struct pkt_hook *h,
			       struct hook_status *s, const struct bpf_program *refused, int err)
{
	char what[128];

	if (s->state != HOOK_BOUND ||
	    (pkt_find_program(probe, h) != refused && pkt_find_second_program(probe, h) != refused))
		return 0;
	loader_describe_refusal(probe, what, sizeof(what));
	loader_fail_hook(s, h, what, err);
	return 1;
}

/* Fails each hook that uses the refused program; returns their number. */
static int loader_drop_refused(struct pkt_probe *probe, int err)
{
	const struct bpf_program *refused = bpf_object__find_program_by_name(probe->obj,
									     refusal_name());
	struct function *f = pkt_function_bound(probe);
	int dropped = 0;

	if (!refused)
		return 0;
	for (int i = 0; pkt_hooks[i].at.target; i++)
		dropped +=
			loader_fail_refused(probe, &pkt_hooks[i], &probe->status[i], refused, err);
	return f ? dropped + loader_fail_refused(probe, &f->hook, &f->status, refused, err)
		 : dropped;
}

static int loader_map_cpus(struct pkt_probe *probe)
{
	void *p = mmap(NULL, probe->ncpus * sizeof(struct cpu_state), PROT_READ | PROT_WRITE,
		       MAP_SHARED, bpf_map__fd(probe->skel->maps.cpus), 0);

	if (p == MAP_FAILED)
		return -errno;
	probe->cpus = p;
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++)
		loader_init_rows(pkt_cpu(probe, cpu));
	return 0;
}

void pkt_detach(struct pkt_probe *probe)
{
	for (uint32_t i = 0; i < probe->n_attached; i++) {
		bpf_link__destroy(probe->attached[i].link);
		probe->attached[i].link = NULL;
	}
	pkt_netns_detach(probe);
}

void pkt_unload(struct pkt_probe *probe)
{
	pkt_detach(probe);
	pkt_groups_close(probe);
	pkt_irq_stats_close(probe);
	if (probe->cpus)
		munmap(probe->cpus, probe->ncpus * sizeof(struct cpu_state));
	probe->cpus = NULL;
	watch_bpf__destroy(probe->skel);
	probe->skel = NULL;
	probe->n_attached = 0;
}

/*
 * Returns true if the BTF of kernel modules is unreadable. Loading then fails if the kernel lacks a
 * function that a program calls, as libbpf searches the modules for the function.
 */
static bool loader_cannot_read_modules(void)
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

static void loader_describe_failure(int err, char *why, size_t size)
{
	if (refusal_name()[0])
		snprintf(why, size, "cannot load the BPF programs: the kernel refuses %s (%s)",
			 refusal_name(), strerror(-err));
	else if (!kernel_can_cast() && loader_cannot_read_modules())
		snprintf(why, size, "cannot load the BPF programs: before Linux 6.2, loading reads "
			 "the types of kernel modules (BTF), which needs CAP_SYS_ADMIN");
	else
		snprintf(why, size, "cannot load the BPF programs: %s", strerror(-err));
}

/* Selects hooks and loads once. Returns 0, -EAGAIN to repeat without failed hooks, or -errno. */
static int loader_load_once(struct pkt_probe *probe, char *why, size_t size)
{
	int err;

	pkt_hooks_select(probe);
	pkt_function_select(probe);
	probe->skel = watch_bpf__open();
	if (!probe->skel) {
		snprintf(why, size, "cannot open the BPF programs: %s", strerror(errno));
		return -errno;
	}
	probe->obj = probe->skel->obj;
	err = loader_size_maps(probe, why, size);
	if (err)
		return err;
	loader_set_rodata(probe);
	refusal_forget();
	err = select_programs(probe);
	loader_skip_refused_maps(probe);
	if (!err)
		err = watch_bpf__load(probe->skel);
	if (err && (loader_drop_refused(probe, err) || loader_drop_map(probe, err) == -EAGAIN))
		return -EAGAIN;
	if (!err)
		err = loader_map_cpus(probe);
	if (!err)
		err = pkt_groups_open(probe);
	if (!err)
		err = pkt_irq_stats_open(probe);
	if (err) {
		loader_describe_failure(err, why, size);
		return err;
	}
	clock_sleep_until(clock_system(), probe->stamps_from_ns);
	if (loader_attach(probe))
		return -EAGAIN;
	return 0;
}

/* Loads once and runs the self-test, if possible. Returns the same values as loader_load_once(). */
static int loader_load_and_prove(struct pkt_probe *probe, bool stats, char *why, size_t size)
{
	int err = loader_load_once(probe, why, size);

	if (!err)
		err = pkt_check_essential(probe, why, size);
	if (err)
		return err;
	pkt_publish_clock(probe, NULL);
	if (!stats)
		return 0;
	err = pkt_run_selftest(probe);
	if (err > 0)
		return -EAGAIN;
	if (!err)
		pkt_calibrate(probe);
	else
		snprintf(probe->cost->why, sizeof(probe->cost->why),
			 "the self-test needs a loopback interface that is up");
	return 0;
}

int pkt_load(struct pkt_probe *probe, char *why, size_t size)
{
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), err = -EAGAIN;
	bool on = stats >= 0 || prog_stats_are_on();

	if (!on)
		snprintf(probe->cost->why, sizeof(probe->cost->why),
			 "the self-test, which times the programs, needs CAP_SYS_ADMIN or "
			 "kernel.bpf_stats_enabled=1");
	refusal_listen();
	for (int i = 0; i < HOOKS_MAX && err == -EAGAIN; i++) {
		pkt_unload(probe);
		err = loader_load_and_prove(probe, on, why, size);
	}
	if (stats >= 0)
		close(stats);
	if (err == -EAGAIN)
		pkt_check_essential(probe, why, size);
	/* Without bpf_loop() the kernel refuses each program: reports the common reason instead. */
	if (err && !libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_loop, NULL))
		snprintf(why, size, "this kernel has no bpf_loop(): Linux 5.17 or newer is needed");
	if (!err && probe->config.max_overhead > 0 && !pkt_cost_known(probe)) {
		snprintf(why, size, "--max-overhead: the BPF programs' overhead is unknown: %s",
			 probe->cost->why);
		err = -ENOTSUP;
	}
	if (!err)
		pkt_set_sampling(probe, probe->config.one_in ? probe->config.one_in : 1);
	return err;
}
