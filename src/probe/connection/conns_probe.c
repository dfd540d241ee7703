/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privilege.h"
#include "base/restorer.h"
#include "base/strbuf.h"
#include "clock/clock.h"
#include "host/cgroup.h"
#include "probe/connection/conns_calls.h"
#include "probe/connection/conns_cost.h"
#include "probe/connection/conns_hooks.h"
#include "probe/connection/conn_delta.h"
#include "probe/connection/conns_walk.h"
#include "probe/common/hook.h"
#include "probe/common/prog_stats.h"
#include "bpf/conns.skel.h"

#define PROGRAMS_MAX 24 /* maximum of programs at hooks */

struct conns_probe {
	struct conns_bpf *skel;
	struct ring_buffer *ring;
	struct conns_walk walk;
	struct bpf_link *existing;      /* iterator over iter/tcp; NULL: this kernel refuses it */
	struct bpf_link *links[PROGRAMS_MAX];
	size_t n_links;
	struct strbuf missing;          /* values not measured, as lines "name: why" */
	/* process that clears the sockets' flags if this process is killed */
	struct restorer restorer;
	uint64_t started, first_ns;
	struct conn_delta delta;
	struct conns_cost cost;
	struct conns_calls calls;
	struct conns_ends ends;
};

static void probe_note_missing(struct conns_probe *p, const char *what, const char *why)
{
	strbuf_printf(&p->missing, "%s: %s\n", what, why);
}

/* ---- passes ---- */

/*
 * Handles a connection record from the BPF ring buffer. Ignores records as long as no sink is set:
 * their connections were made to calibrate costs.
 */
static int conns_probe_add_record(void *ctx, void *data, size_t size)
{
	struct conns_probe *p = ctx;
	const struct conn_snapshot *t = data;

	if (size < sizeof(*t) || !p->delta.sink)
		return 0;
	conn_delta_add(&p->delta, t, NULL);
	if (t->closed)
		conns_calls_forget(&p->calls, t->stats.idle.cookie);
	return 0;
}

static void probe_empty_ring(void *ctx)
{
	struct conns_probe *p = ctx;
	int n = ring_buffer__consume(p->ring);

	if (n < 0 && !p->delta.err)
		p->delta.err = n;
}

static void probe_set_pass(const struct conns_probe *p, struct conns_pass *pass, uint64_t before)
{
	pass->members = p->skel->bss->pass.members;
	pass->reported = p->skel->bss->pass.reported;
	pass->cpu_ns = clock_thread_cpu() - before;
}

int conns_probe_sample(struct conns_probe *p, enum conn_level level, double sample_ns,
		       struct conns_pass *pass)
{
	uint64_t before = clock_thread_cpu();
	double us = sample_ns / 1000;
	int err = conns_walk_sample(&p->walk, level,
				    us < 1 ? 1 : us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);

	probe_empty_ring(p);
	probe_set_pass(p, pass, before);
	pass->ended = true;
	return err ? err : p->delta.err;
}

void conns_probe_output(struct conns_probe *p, struct event_sink *sink, struct event_dict *dict)
{
	p->delta.sink = sink;
	p->delta.dict = dict;
}

int conns_probe_read(struct conns_probe *p, enum conn_level level, uint64_t quota,
		     struct conns_pass *pass)
{
	uint64_t before = clock_thread_cpu();
	int err = conns_walk_read(&p->walk, level, quota, &pass->ended);

	probe_empty_ring(p);
	probe_set_pass(p, pass, before);
	return err ? err : p->delta.err;
}

int conns_probe_fd(const struct conns_probe *p)
{
	return ring_buffer__epoll_fd(p->ring);
}

bool conns_probe_block(struct conns_probe *p, struct event_block *block)
{
	return conn_delta_block(&p->delta, block);
}

/* ---- attaching ---- */

/*
 * Attaches conn_ops, which gets round trips from the kernel, at the root cgroup, above all
 * containers. conn_ops sets flags in sockets, so it is attached only where probe_release_sockets()
 * can clear these.
 */
static void probe_attach_ops(struct conns_probe *p)
{
	int fd, err;

	if (!p->existing) {
		probe_note_missing(
			p, "round trips",
			"round trips, the peer's delayed acknowledgements and, before Linux 6.7, "
			"timeouts are unknown: they need flags in sockets that hostlat could not "
			"clear without iter/tcp");
		return;
	}
	fd = host_cgroup2_open();
	if (fd < 0) {
		probe_note_missing(p, "round trips", fd == -ENOENT ? "cgroup2 is not mounted" :
				   strerror(-fd));
		return;
	}
	p->skel->links.conn_ops = bpf_program__attach_cgroup(p->skel->progs.conn_ops, fd);
	err = errno;
	close(fd);
	p->skel->bss->ops_attached = p->skel->links.conn_ops != NULL;
	if (p->skel->links.conn_ops)
		p->delta.known |= CONN_KNOWS_RTT | CONN_KNOWS_RTTS | CONN_KNOWS_PEER_DELACKS |
				  CONN_KNOWS_RTO;
	else
		probe_note_missing(p, "round trips", strerror(err));
}

/*
 * Returns true if another program may have asked for the round trips of connections that began
 * after hostlat: its flags cannot then be distinguished from hostlat's, and stay.
 */
static bool probe_has_other_ops(void)
{
	__u32 programs[64], n = 64;
	int fd = host_cgroup2_open();
	bool has;

	if (fd < 0)
		return false;
	has = !bpf_prog_query(fd, BPF_CGROUP_SOCK_OPS, BPF_F_QUERY_EFFECTIVE, NULL, programs,
			      &n) && n > 1;
	close(fd);
	return has;
}

static bool probe_is_attached_elsewhere(const struct conns_bpf *skel,
					const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == BPF_TRACE_ITER ||
	       program == skel->progs.conn_ops || program == skel->progs.conn_walk;
}

/* Attaches the programs at hooks. Returns -EAGAIN to try again without a refused program. */
static int probe_attach_hooks(struct conns_probe *p, struct refusals *refused)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, p->skel->obj) {
		struct bpf_link *link;

		if (!bpf_program__autoload(program) ||
		    probe_is_attached_elsewhere(p->skel, program))
			continue;
		link = bpf_program__attach(program);
		if (!link)
			return refusals_add(refused, bpf_program__name(program), -errno);
		p->links[p->n_links++] = link;
	}
	return 0;
}

static int probe_attach_existing(struct conns_probe *p, struct refusals *refused)
{
	if (!bpf_program__autoload(p->skel->progs.conn_existing))
		return 0;
	p->existing = bpf_program__attach_iter(p->skel->progs.conn_existing, NULL);
	return p->existing ? 0 : refusals_add(refused, "conn_existing", -errno);
}

static int probe_attach(struct conns_probe *p, struct refusals *refused)
{
	int err = probe_attach_hooks(p, refused);

	if (!err)
		err = probe_attach_existing(p, refused);
	if (err)
		return err;
	if (bpf_program__autoload(p->skel->progs.conn_ops))
		probe_attach_ops(p);
	err = conns_walk_open(&p->walk, p->skel, probe_empty_ring, p);
	if (!err)
		return 0;
	return refusals_add(refused, p->skel->rodata->in_tables ? "conn_walk" : "conn_visit", err);
}

/* ---- connections older than hostlat ---- */

struct probe_namespace {
	struct conns_probe *probe;
	int fd;
};

/* Creates an iterator, which visits the namespace in which it was created. */
static int probe_make_iterator(void *ctx)
{
	struct probe_namespace *e = ctx;

	e->fd = bpf_iter_create(bpf_link__fd(e->probe->existing));
	return e->fd < 0 ? -errno : 0;
}

static void probe_each_namespace(struct conns_probe *p, enum pass_follow follow)
{
	p->skel->bss->pass = (struct conn_pass){ .quota = UINT64_MAX, .follow = follow };
	for (size_t i = 0; i < p->delta.namespaces.len; i++) {
		struct probe_namespace e = { .probe = p };
		int err = host_netns_run(&p->delta.namespaces.items[i], probe_make_iterator, &e);
		bool ended;

		if (!err) {
			err = conns_walk_iterator(&p->walk, e.fd, &ended);
			close(e.fd);
		}
		if (err && follow == PASS_FOLLOW) {
			char what[HOST_LABEL_MAX + 64];

			snprintf(what, sizeof(what), "earlier connections in namespace %s",
				 p->delta.namespaces.items[i].name);
			probe_note_missing(p, what, strerror(-err));
		}
	}
}

static int probe_visit_owners(struct conns_probe *p)
{
	struct bpf_link *link = bpf_program__attach_iter(p->skel->progs.conn_owner, NULL);
	int err;

	if (!link)
		return -errno;
	err = conns_walk_link(&p->walk, link);
	bpf_link__destroy(link);
	return err;
}

static void probe_find_owners(struct conns_probe *p)
{
	int err;

	if (!bpf_program__autoload(p->skel->progs.conn_owner))
		return; /* the kernel refuses conn_owner; `missing` has the reason */
	err = probe_visit_owners(p);
	if (err)
		probe_note_missing(p, "owners", strerror(-err));
}

/* ---- life ---- */

/* Returns the kernel's tick in ns: the coarse clock advances once per tick. */
static uint64_t probe_tick_ns(void)
{
	struct timespec t;

	clock_getres(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_nsec;
}

/* Detaches and unloads all programs. */
static void probe_unload(struct conns_probe *p)
{
	conns_walk_release(&p->walk);
	for (size_t i = 0; i < p->n_links; i++)
		bpf_link__destroy(p->links[i]);
	p->n_links = 0;
	bpf_link__destroy(p->existing);
	p->existing = NULL;
	conns_bpf__destroy(p->skel);
	p->skel = NULL;
}

/* Loads and attaches once. Returns -EAGAIN to try again without a refused program or map. */
static int probe_load_once(struct conns_probe *p, const struct conns_log *log,
			   struct refusals *refused, char *why, size_t size)
{
	int err;

	probe_unload(p);
	p->skel = conns_bpf__open();
	if (!p->skel)
		return -errno;
	err = conns_hooks_select(p->skel, refused, &p->delta, &p->missing, why, size);
	if (err)
		return err;
	p->delta.tick_ns = probe_tick_ns();
	p->skel->rodata->tick_ns = p->delta.tick_ns;
	err = conns_calls_select(&p->calls, p->skel, log, &p->delta.table);
	if (!err)
		err = refusals_load(refused, p->skel->skeleton);
	if (err)
		return err;
	p->delta.known |= CONN_KNOWS_TIMES | CONN_KNOWS_CHRONO | CONN_KNOWS_SPURIOUS |
		    CONN_KNOWS_RCV_WND | CONN_KNOWS_GAUGES;
	return probe_attach(p, refused);
}

static int probe_load(struct conns_probe *p, const struct conns_log *log, char *why, size_t size)
{
	struct refusals refused = { 0 };
	int err;

	do
		err = probe_load_once(p, log, &refused, why, size);
	while (err == -EAGAIN);
	if (!err)
		err = conns_calls_open(&p->calls, log);
	if (err)
		return err;
	p->ring = ring_buffer__new(bpf_map__fd(p->skel->maps.ring), conns_probe_add_record, p,
				   NULL);
	return p->ring ? 0 : -errno;
}

/*
 * Clears the flags set in sockets, in all present namespaces. The restorer process calls this
 * function as well if this process is killed.
 */
static void probe_release_sockets(void *probe)
{
	struct conns_probe *p = probe;

	p->skel->bss->following = 0;
	host_netns_vec_release(&p->delta.namespaces);
	if (!host_netns_list(NULL, &p->delta.namespaces))
		probe_each_namespace(p, probe_has_other_ops() ? PASS_LEAVE_OLD : PASS_LEAVE);
}

static int probe_start(struct conns_probe *p)
{
	int err;

	err = host_netns_list(NULL, &p->delta.namespaces);
	if (err)
		return err;
	err = p->existing
		      ? restorer_start(&p->restorer, PRIVILEGE_COLLECT, probe_release_sockets, p)
		      : 0;
	if (err)
		log_warning("cannot start the process that restores sockets if hostlat dies: %s",
			    strerror(-err));
	p->skel->bss->following = 1;
	probe_empty_ring(p);
	p->started = clock_now();
	p->first_ns = clock_thread_cpu();
	if (p->existing)
		probe_each_namespace(p, PASS_FOLLOW);
	p->first_ns = clock_thread_cpu() - p->first_ns;
	if (p->skel->bss->flags_refused && !p->skel->bss->flags_accepted)
		probe_note_missing(
			p, "round trips of earlier connections",
			"this kernel does not let programs enable round-trip times on an open "
			"connection (Linux 6.12 does)");
	probe_find_owners(p);
	return 0;
}

/*
 * Explains why connections cannot be followed: advice only if a privilege is missing, else the
 * refused program.
 */
static void probe_explain_refusal(int err, char *why, size_t size)
{
	if (!conns_hooks_permitted())
		snprintf(why, size, "cannot follow connections: %s (run hostlat as root, or with "
			 "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)", strerror(-err));
	else if (refusal_name()[0])
		snprintf(why, size, "cannot follow connections: this kernel refuses %s (%s)",
			 refusal_name(), strerror(-err));
	else
		snprintf(why, size, "cannot follow connections: %s", strerror(-err));
}

int conns_probe_open(struct conns_probe **out, const struct conns_log *log, char *why, size_t size)
{
	struct conns_probe *p = calloc(1, sizeof(*p));
	char reason[256];
	int err;

	*out = NULL;
	why[0] = '\0';
	if (!p)
		return -ENOMEM;
	p->cost.cpus = libbpf_num_possible_cpus();
	if (p->cost.cpus < 1 || p->cost.cpus > CONN_CPUS)
		p->cost.cpus = CONN_CPUS;
	strbuf_init(&p->missing, 65536);
	err = conn_delta_init(&p->delta);
	if (!err && conns_hooks_permitted() && hook_none(reason, sizeof(reason))) {
		snprintf(why, size, "cannot follow connections: %s", reason);
		err = -ENOTSUP;
	}
	if (!err)
		err = probe_load(p, log, why, size);
	if (!err)
		err = probe_start(p);
	if (err) {
		if (!why[0])
			probe_explain_refusal(err, why, size);
		conns_probe_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void conns_probe_free(struct conns_probe *p)
{
	if (!p)
		return;
	if (p->existing)
		probe_release_sockets(p);
	restorer_call_off(&p->restorer);
	ring_buffer__free(p->ring);
	conns_calls_release(&p->calls);
	probe_unload(p);
	conn_delta_release(&p->delta);
	strbuf_release(&p->missing);
	free(p);
}

void conns_probe_aim(struct conns_probe *p, enum conn_level level, double hz)
{
	p->delta.hz[level] = hz;
}

void conns_probe_cover(struct conns_probe *p, enum conn_level level, bool sampled, uint64_t now)
{
	conn_cover_set(&p->delta.cover[level], sampled, now);
}

void conns_probe_gap(struct conns_probe *p, enum conn_level level, uint64_t from, uint64_t to,
		     uint64_t ns)
{
	conn_cover_gap(&p->delta.cover[level], from, to, ns);
}

void conns_probe_members(const struct conns_probe *p, uint64_t members[LEVELS])
{
	for (int i = 0; i < LEVELS; i++) {
		int64_t n = *(volatile int64_t *)&p->skel->bss->members[i];

		members[i] = n > 0 ? (uint64_t)n : 0;
	}
}

void conns_probe_thin(struct conns_probe *p, uint32_t n)
{
	const uint32_t before = p->delta.thinned_one_in;

	if (n == before)
		return;
	conn_delta_thin(&p->delta, n, clock_now());
	/* logs of connections that are selected only now may lack earlier calls */
	if (before > 1)
		conns_calls_thinned(&p->calls);
	p->skel->data->thin_one_in = n;
}

void conns_probe_follow(struct conns_probe *p, uint32_t n)
{
	p->skel->data->follow_one_in = n;
}

void conns_probe_ends(struct conns_probe *p, struct conns_ends *ends)
{
	uint32_t begun = 0, left_out = 0; /* sums of 32-bit counters of CPUs, which wrap */

	for (int cpu = 0; cpu < CONN_CPUS; cpu++) {
		const volatile struct conn_counts *c = &p->skel->bss->counts[cpu];

		left_out += c->left_out;
		begun += c->begun;
	}
	p->ends.left_out += (uint32_t)(left_out - (uint32_t)p->ends.left_out);
	p->ends.begun += (uint32_t)(begun - (uint32_t)p->ends.begun);
	p->ends.records = p->delta.records;
	p->ends.closed = p->delta.closed;
	*ends = p->ends;
}

/* ---- the log of calls ---- */

int conns_probe_choose(struct conns_probe *p, uint64_t cookie)
{
	return conns_calls_choose(&p->calls, cookie);
}

int conns_probe_calls(struct conns_probe *p, uint64_t grant)
{
	return conns_calls_read(&p->calls, grant);
}

bool conns_probe_call_block(struct conns_probe *p, struct event_block *block)
{
	return conns_calls_block(&p->calls, block);
}

uint64_t conns_probe_calls_left_out(const struct conns_probe *p)
{
	return conns_calls_left_out(&p->calls);
}

/* ---- losses, cost and memory ---- */

void conns_probe_lost(const struct conns_probe *p, struct conns_lost *lost)
{
	const __u32 *n = p->skel->bss->losses;

	struct bpf_program *program;

	*lost = (struct conns_lost){
		.no_memory = n[LOST_NO_MEMORY], .ring = n[LOST_RING], .timers = n[LOST_TIMERS],
	};
	bpf_object__for_each_program(program, p->skel->obj)
		lost->skipped += prog_stats_skipped(program);
}

void conns_probe_stats(const struct conns_probe *p, uint64_t ns[USE_MAX], uint64_t runs[USE_MAX])
{
	conns_cost_stats(p->skel->obj, ns, runs);
}

bool conns_probe_cost(struct conns_probe *p, struct conns_push *push)
{
	return conns_cost_since(&p->cost, p->skel->bss->counts, p->skel->bss->timed, push);
}

uint64_t conns_probe_first_ns(const struct conns_probe *p)
{
	return p->first_ns;
}

uint64_t conns_probe_memory(const struct conns_probe *p)
{
	const struct conn_table *t = &p->delta.table;

	return t->n * sizeof(struct conn_seen) + t->size * sizeof(struct conn_key *) +
	       p->delta.counted_bytes + p->delta.rtts_bytes;
}

int conns_probe_describe(struct conns_probe *p, struct event_sink *sink)
{
	return conn_delta_put_missing(strbuf_str(&p->missing), p->started, sink);
}
