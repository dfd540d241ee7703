/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the watch programs: settings, hooks, sizes of maps, attachment. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "probe/netfilter.h"
#include "probe/watch_internal.h"
#include "stats/buckets.h"
#include "bpf/watch.skel.h"

#define STAGE_BIT(stage) (1U << (stage))

/* Bits of `slots` in the programs, by stage. */
static const struct {
	uint32_t stage, slot;
} slot_of[] = {
	{ STAGE_LINK, SLOT_LINK },         { STAGE_IP, SLOT_IP },
	{ STAGE_TRANSPORT, SLOT_TRANSPORT }, { STAGE_ENQUEUED, SLOT_ENQUEUED },
	{ STAGE_RUNNABLE, SLOT_RUNNABLE }, { STAGE_RUNNING, SLOT_RUNNING },
	{ STAGE_READ, SLOT_READ },
};

static const uint32_t origin_of[ORIGIN_MAX] = {
	[ORIGIN_NONE] = ROW_ORIGINS,  [ORIGIN_LINK] = ROW_LINK,     [ORIGIN_STACK] = ROW_STACK,
	[ORIGIN_DELIVER] = ROW_DELIVER, [ORIGIN_SENDER] = ROW_SENDER,
};

/* What libbpf said about the program that the kernel refused. */
static char refused_program[64];

static int libbpf_says(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[512], name[64];
	va_list copy;

	if (level != LIBBPF_WARN)
		return 0;
	va_copy(copy, args);
	vsnprintf(line, sizeof(line), format, args);
	if (getenv("HOSTLAT_LIBBPF"))
		vfprintf(stderr, format, copy);
	va_end(copy);
	if (strstr(line, "BPF program load failed") &&
	    sscanf(line, "libbpf: prog '%63[^']'", name) == 1)
		snprintf(refused_program, sizeof(refused_program), "%s", name);
	return 0;
}

/* ---- which hooks ---- */

static uint32_t highest_stage(uint32_t stages)
{
	uint32_t top = STAGE_LINK;

	for (uint32_t s = STAGE_LINK; s <= STAGE_READ; s++)
		if (stages & STAGE_BIT(s))
			top = s;
	return top;
}

/*
 * A stage needs those before it: `read` finds the packet's way in what `enqueued` left, and so on
 * down to `link`. Only ip and the scheduler can be left out.
 */
static bool needed(const struct watch_probe *probe, const struct hook *h)
{
	uint32_t stages = probe->config.stages;

	switch (h->stage) {
	case STAGE_IP:
		return stages & STAGE_BIT(STAGE_IP);
	case STAGE_RUNNABLE:
	case STAGE_RUNNING:
		return stages & (STAGE_BIT(STAGE_RUNNABLE) | STAGE_BIT(STAGE_RUNNING));
	case STAGE_READ:
		return highest_stage(stages) >= STAGE_RUNNABLE;
	default:
		return true;
	}
}

static bool same_place(const struct hook *a, const struct hook *b)
{
	return a->stage == b->stage && a->protocol == b->protocol &&
	       (a->stage != STAGE_NONE || !strcmp(a->target, b->target));
}

/* The first hook of each place that has not failed is bound. */
static void choose(struct watch_probe *probe)
{
	for (int i = 0; hooks[i].target; i++) {
		struct hook_status *s = &probe->status[i];
		bool taken = false;

		for (int j = 0; j < i; j++)
			taken |= same_place(&hooks[i], &hooks[j]) &&
				 probe->status[j].state == HOOK_BOUND;
		if (s->state == HOOK_FAILED)
			continue;
		s->state = HOOK_NOT_NEEDED;
		if (taken || !needed(probe, &hooks[i]))
			continue;
		s->state = hook_try(&hooks[i], s->why, sizeof(s->why)) ? HOOK_FAILED : HOOK_BOUND;
	}
}

static bool bound(const struct watch_probe *probe, uint32_t stage, uint32_t protocol)
{
	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].stage == stage && probe->status[i].state == HOOK_BOUND &&
		    (hooks[i].protocol == protocol || hooks[i].protocol == PROTO_ANY))
			return true;
	return false;
}

static bool bound_at(const struct watch_probe *probe, const char *target)
{
	for (int i = 0; hooks[i].target; i++)
		if (!strcmp(hooks[i].target, target) && probe->status[i].state == HOOK_BOUND)
			return true;
	return false;
}

static const char *why_not(const struct watch_probe *probe, uint32_t stage)
{
	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].stage == stage && probe->status[i].state == HOOK_FAILED)
			return probe->status[i].why;
	return "no hook";
}

/* ---- settings and sizes ---- */

/* Culprits, settings, and what the kernel adds to each map; bench/scrape compares. */
#define SMALL_MAPS (160ULL << 10)

static int size_maps(struct watch_probe *probe, char *why, size_t size)
{
	struct watch_bpf *skel = probe->skel;
	uint64_t fixed = SMALL_MAPS + LINK_SETS * 2ULL * sizeof(struct link_entry) +
			 TCP_TABLE * sizeof(struct tcp_entry) +
			 TASK_TABLE * sizeof(struct task_entry) +
			 (uint64_t)probe->ncpus * sizeof(struct cpu_state);
	uint64_t per_row = (uint64_t)probe->ncpus * sizeof(struct row);
	uint64_t want = probe->config.memory, rows, rings;

	if (want < fixed + per_row * (ROW_FIRST + 1) + sizeof(struct ext_ring)) {
		snprintf(why, size, "--memory is too small: this machine's %u CPUs need %llu KiB",
			 probe->ncpus, (unsigned long long)((fixed + per_row * (ROW_FIRST + 1) +
			 sizeof(struct ext_ring)) / 1024 + 1));
		return -ENOMEM;
	}
	want -= fixed + sizeof(struct ext_ring);
	rows = want / per_row < ROW_FIRST + ROW_KEYS ? want / per_row : ROW_FIRST + ROW_KEYS;
	want -= rows * per_row;
	rings = 1 + want / sizeof(struct ext_ring);
	if (rings > EXT_MAX)
		rings = EXT_MAX;
	probe->row_pool = skel->rodata->row_pool = rows;
	skel->rodata->ext_limit = rings;
	probe->memory = fixed + rows * per_row + rings * sizeof(struct ext_ring);
	probe->cpu_size = sizeof(struct cpu_state) + rows * sizeof(struct row);
	if (bpf_map__set_value_size(skel->maps.cpus, probe->cpu_size) ||
	    bpf_map__set_max_entries(skel->maps.cpus, probe->ncpus) ||
	    bpf_map__set_max_entries(skel->maps.ext_rings, rings))
		return -EINVAL;
	return 0;
}

void watch_bucket_tables(__u8 *fine, __u8 *coarse, __u16 *edge)
{
	for (uint32_t v = 1; v <= SHORT_MAX; v++) {
		uint32_t i = bucket_index(v);

		if (v <= FINE_MAX)
			fine[v] = i;
		if (v % 16 == 0)
			coarse[v / 16] = i;
		edge[i] = v; /* the last one stays */
	}
}

static void settings(struct watch_probe *probe)
{
	const struct watch_probe_config *c = &probe->config;
	struct watch_bpf *skel = probe->skel;
	int backlog = drop_reason_number("CPU_BACKLOG");
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof(slot_of) / sizeof(slot_of[0]); i++)
		if (c->stages & STAGE_BIT(slot_of[i].stage))
			mask |= 1U << slot_of[i].slot;
	watch_bucket_tables((__u8 *)skel->rodata->bucket_fine,
			    (__u8 *)skel->rodata->bucket_coarse,
			    (__u16 *)skel->rodata->bucket_edge);
	skel->bss->epoch = 1;
	skel->bss->row_next = ROW_FIRST;
	skel->rodata->slots = mask;
	skel->rodata->origin_asked = origin_of[c->origin];
	skel->rodata->filter_port = c->port;
	skel->rodata->filter_netns = c->netns;
	skel->rodata->filter_tgid = c->pid;
	memcpy((void *)skel->rodata->filter_ifname, probe->ifname, sizeof(probe->ifname));
	skel->rodata->drop_cpu_backlog = backlog < 0 ? ~0U : (uint32_t)backlog;
	skel->rodata->sockets_end = bound_at(probe, "tcp_destroy_sock");
	skel->rodata->tasks_end = bound_at(probe, "sched_process_free");
	skel->rodata->transport_udp = bound(probe, STAGE_TRANSPORT, PROTO_UDP);
	skel->rodata->read_tcp = bound(probe, STAGE_READ, PROTO_TCP);
	skel->rodata->read_udp = bound(probe, STAGE_READ, PROTO_UDP);
}

/* kfree_skb names the socket since 6.11: one argument more. */
static bool kfree_names_socket(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool names = false;
	int id;

	if (libbpf_get_error(btf))
		return false;
	id = btf__find_by_name_kind(btf, "btf_trace_kfree_skb", BTF_KIND_TYPEDEF);
	if (id > 0) {
		const struct btf_type *t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

		t = btf__type_by_id(btf, t->type);
		names = btf_is_func_proto(t) && btf_vlen(t) >= 5;
	}
	btf__free(btf);
	return names;
}

static void select_program(struct watch_probe *probe, const char *name, enum hook_kind kind)
{
	struct bpf_program *p;

	if (!strcmp(name, "drop_tp") && !kfree_names_socket())
		name = "drop_old_tp";
	p = watch_program(probe, name);
	bpf_program__set_autoload(p, true);
	if (kind == HOOK_NETFILTER) {
		bpf_program__set_type(p, NETFILTER_PROG_TYPE);
		bpf_program__set_expected_attach_type(p, NETFILTER_ATTACH_TYPE);
	}
}

static void select_programs(struct watch_probe *probe)
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
}

/* ---- attachment ---- */

static int attach_cgroup(struct watch_probe *probe, struct bpf_program *p)
{
	char path[HOST_PATH_MAX];
	struct bpf_link *link;
	int fd, err;

	err = host_cgroup2_mount(NULL, path, sizeof(path));
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_cgroup(p, fd);
	close(fd);
	err = libbpf_get_error(link);
	if (!err)
		probe->links[probe->n_links++] = link;
	return err;
}

static uint32_t netfilter_hook(const struct hook *h)
{
	return h->stage == STAGE_IP ? NETFILTER_PRE_ROUTING : NETFILTER_LOCAL_IN;
}

static struct netns_links *links_of(struct watch_probe *probe, uint64_t inode)
{
	for (size_t i = 0; i < probe->n_netns; i++)
		if (probe->netns[i].inode == inode)
			return &probe->netns[i];
	return NULL;
}

/*
 * In every namespace that can be entered (of the filter, and our own for the self-test's sake);
 * fails only if there is none.
 */
static int attach_netfilter(struct watch_probe *probe, const struct hook *h, struct bpf_program *p)
{
	struct host_netns_vec list = {};
	int err = host_netns_list(NULL, &list), last = -ENOENT, attached = 0;

	for (size_t i = 0; !err && i < list.len; i++) {
		const struct host_netns *ns = &list.items[i];
		struct netns_links *l = links_of(probe, ns->inode);
		bool asked = !probe->config.netns || ns->inode == probe->config.netns;
		int *links, rc;

		if (!asked && !ns->own)
			continue;
		if (!l) {
			l = &probe->netns[probe->n_netns++];
			*l = (struct netns_links){ ns->inode, { -1, -1, -1, -1 } };
		}
		links = l->links + (h->stage == STAGE_IP ? 0 : 2);
		rc = netfilter_attach(bpf_program__fd(p), netfilter_hook(h), ns, links);
		if (!asked)
			continue;
		last = rc;
		attached += !rc;
	}
	host_netns_vec_release(&list);
	return attached ? 0 : last;
}

static int attach_program(struct watch_probe *probe, const struct hook *h, const char *name)
{
	struct bpf_program *p = watch_program(probe, name);
	struct bpf_link *link;
	int err;

	if (!bpf_program__autoload(p))
		p = watch_program(probe, "drop_old_tp");
	if (h->kind == HOOK_NETFILTER)
		return attach_netfilter(probe, h, p);
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

/*
 * Returns how many hooks failed: then others have to be chosen. The last on a packet's way comes
 * first: what is remembered at `enqueued` must not be read before somebody looks.
 */
static int attach(struct watch_probe *probe)
{
	int failures = 0, n = 0;

	while (hooks[n].target)
		n++;
	for (int i = n - 1; i >= 0; i--) {
		const struct hook *h = &hooks[i];
		int err;

		if (probe->status[i].state != HOOK_BOUND)
			continue;
		err = attach_program(probe, h, h->program);
		if (!err && h->also_program && strcmp(h->also_program, "returned_tp"))
			err = attach_program(probe, h, h->also_program);
		if (!err && h->kind == HOOK_FEXIT)
			err = attach_program(probe, h, "tcp_copied_tp");
		if (err) {
			failed(&probe->status[i], h, "can't be attached", err);
			failures++;
		}
	}
	return failures;
}

/* ---- loading ---- */

/* The program that the verifier refused gives way to the next hook of its ladder. */
static int drop_refused(struct watch_probe *probe, int err)
{
	int dropped = 0;

	for (int i = 0; hooks[i].target && refused_program[0]; i++) {
		const struct hook *h = &hooks[i];

		if (probe->status[i].state != HOOK_BOUND)
			continue;
		if (strcmp(h->program, refused_program) &&
		    (!h->also_program || strcmp(h->also_program, refused_program)))
			continue;
		failed(&probe->status[i], h, "the program is refused", err);
		dropped++;
	}
	return dropped;
}

static int map_cpus(struct watch_probe *probe)
{
	void *p = mmap(NULL, probe->ncpus * probe->cpu_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(probe->skel->maps.cpus), 0);

	if (p == MAP_FAILED)
		return -errno;
	probe->cpus = p;
	return 0;
}

void watch_unload(struct watch_probe *probe)
{
	for (uint32_t i = 0; i < probe->n_links; i++)
		bpf_link__destroy(probe->links[i]);
	probe->n_links = 0;
	for (size_t i = 0; i < probe->n_netns; i++)
		for (int j = 0; j < 4; j++)
			if (probe->netns[i].links[j] >= 0)
				close(probe->netns[i].links[j]);
	probe->n_netns = 0;
	if (probe->cpus)
		munmap(probe->cpus, probe->ncpus * probe->cpu_size);
	probe->cpus = NULL;
	watch_bpf__destroy(probe->skel);
	probe->skel = NULL;
}

/* One attempt with the hooks chosen. 0, -EAGAIN: choose again, or an error. */
static int load_once(struct watch_probe *probe, char *why, size_t size)
{
	int err;

	choose(probe);
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
	select_programs(probe);
	refused_program[0] = '\0';
	err = watch_bpf__load(probe->skel);
	if (err && drop_refused(probe, err))
		return -EAGAIN;
	if (!err)
		err = map_cpus(probe);
	if (err) {
		snprintf(why, size, "can't load the programs: %s", strerror(-err));
		return err;
	}
	if (attach(probe))
		return -EAGAIN;
	return 0;
}

static int essential(struct watch_probe *probe, char *why, size_t size)
{
	if (bound(probe, STAGE_LINK, PROTO_ANY) && bound(probe, STAGE_ENQUEUED, PROTO_ANY))
		return 0;
	snprintf(why, size, "%s", why_not(probe, bound(probe, STAGE_LINK, PROTO_ANY) ?
		 STAGE_ENQUEUED : STAGE_LINK));
	return -ENOENT;
}

int watch_load(struct watch_probe *probe, char *why, size_t size)
{
	int err = -EAGAIN;

	libbpf_set_print(libbpf_says);
	for (int i = 0; i < HOOKS_MAX && err == -EAGAIN; i++) {
		watch_unload(probe);
		err = load_once(probe, why, size);
		if (!err)
			err = essential(probe, why, size);
		if (err)
			continue;
		watch_publish_clock(probe, NULL);
		if (watch_selftest(probe) > 0)
			err = -EAGAIN;
	}
	if (err == -EAGAIN)
		essential(probe, why, size);
	return err;
}
