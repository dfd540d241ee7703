/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the programs' counters as events: differences to the previous snapshot, merged over CPUs.
 *
 * Counters are never reset, so that counts made during a reading are not lost: they belong to the
 * next interval. Only the extremes are per interval, and are reset.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "event/names.h"
#include "host/pressure.h"
#include "probe/common/prog_stats.h"
#include "probe/packet/cost.h"
#include "probe/packet/deltas.h"
#include "probe/packet/drop_reason.h"
#include "probe/packet/hook_select.h"
#include "probe/packet/messages.h"
#include "probe/packet/netns_attach.h"
#include "probe/packet/pkt_probe.h"
#include "bpf/watch.skel.h"

/* State of the previous snapshot that only this file uses. */
struct snapshot {
	uint64_t seq, to_ns; /* number of snapshots; time of the last snapshot */
	uint64_t user_ns;    /* CPU time of this process at the last snapshot */
	struct cpu_counters counters;
	struct cpu_share share[ROW_PROTOS];
	struct culprit culprit[CULPRIT_MAX];
	uint32_t culprit_pid[CULPRIT_MAX];
	uint64_t recursion[HOOKS_MAX], function_recursion;
	struct host_pressure pressure;
};

int pkt_snapshot_open(struct pkt_probe *probe)
{
	probe->last = calloc(1, sizeof(*probe->last));
	return probe->last ? 0 : -ENOMEM;
}

void pkt_snapshot_free(struct pkt_probe *probe)
{
	free(probe->last);
}

static void snapshot_put(struct delta_out *o, uint16_t kind, const void *payload, size_t size)
{
	int err = event_put(o->sink, kind, o->now, payload, size);

	if (!o->err)
		o->err = err;
}

static uint32_t snapshot_intern(struct delta_out *o, const char *text)
{
	return event_dict_intern(o->dict, DICT_STRING, text, o->sink, o->now);
}

/* ---- counters ---- */

static void snapshot_merge_counters(const struct pkt_probe *probe, struct cpu_counters *sum)
{
	const size_t n = sizeof(*sum) / sizeof(uint64_t);

	memset(sum, 0, sizeof(*sum));
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++) {
		const uint64_t *from = (const uint64_t *)&pkt_cpu(probe, cpu)->count;
		uint64_t *to = (uint64_t *)sum;

		for (size_t i = 0; i < n; i++)
			to[i] += from[i];
	}
}

static void snapshot_put_count(struct delta_out *o, uint8_t what, uint8_t stage, uint8_t protocol,
			       const char *reason, uint64_t count, uint64_t flags)
{
	struct event_count e = {
		.what = what, .stage = stage, .protocol = protocol,
		.direction = stage_direction(stage), .count = count, .flags = flags,
	};

	if (!count)
		return;
	e.reason = snapshot_intern(o, reason);
	snapshot_put(o, EV_COUNT, &e, sizeof(e));
}

static uint64_t snapshot_count_not_covered(const struct cpu_counters *c)
{
	uint64_t n = 0;

	for (int p = 0; p < ROW_PROTOS; p++)
		n += c->loss[SLOT_IP][LOSS_NOT_COVERED][p] +
		     c->loss[SLOT_TRANSPORT][LOSS_NOT_COVERED][p];
	return n;
}

static void snapshot_add_losses_seen(struct delta_out *o, const struct cpu_counters *now,
				     const struct cpu_counters *before)
{
	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (int why = 0; why < LOSS_MAX; why++)
			for (int p = 0; p < ROW_PROTOS; p++)
				if (slot_meanings[slot].latency == DIST_LATENCY)
					o->seen[slot_meanings[slot].stage][p] +=
						now->loss[slot][why][p] -
						before->loss[slot][why][p];
}

/* Returns true for losses whose count includes unsampled packets. */
static bool snapshot_loss_is_exact(int slot, int why)
{
	return why == LOSS_DESYNC || (slot == SLOT_READ && why == LOSS_MPTCP) ||
	       (slot == SLOT_SEGMENT && why == LOSS_NO_STORAGE);
}

static void snapshot_put_losses(struct delta_out *o, const struct cpu_counters *now,
				const struct cpu_counters *before)
{
	o->not_covered = snapshot_count_not_covered(now) != snapshot_count_not_covered(before);
	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (int why = 0; why < LOSS_MAX; why++)
			for (int p = 0; p < ROW_PROTOS; p++)
				snapshot_put_count(
					o, COUNT_LOSS, slot_meanings[slot].stage, pkt_protocol[p],
					pkt_loss_names[why],
					now->loss[slot][why][p] - before->loss[slot][why][p],
					snapshot_loss_is_exact(slot, why) ? COUNT_EXACT : 0);
	for (int why = 0; why < EXCL_MAX; why++)
		for (int p = 0; p < ROW_PROTOS; p++)
			snapshot_put_count(o, COUNT_EXCLUDED, pkt_excluded[why].stage,
					   deltas_any_protocol(pkt_excluded[why].stage) ||
					   why == EXCL_GRO_CONSUMED ? PROTO_ANY : pkt_protocol[p],
					   pkt_excluded[why].name,
					   now->excluded[why][p] - before->excluded[why][p],
					   pkt_excluded[why].exact ? COUNT_EXACT : 0);
}

static void snapshot_put_drop(struct delta_out *o, uint8_t stage, uint32_t reason, uint64_t count)
{
	char buf[32];
	const char *name = drop_reason_name(reason, buf, sizeof(buf));

	if (!drop_reason_is_duplicate(name))
		snapshot_put_count(o, COUNT_DROP, stage, PROTO_ANY, name, count, COUNT_EXACT);
}

static void snapshot_put_drops(struct delta_out *o, const struct cpu_counters *now,
			       const struct cpu_counters *before)
{
	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (uint32_t r = 0; r < DROP_REASONS; r++)
			if (now->drop[slot][r] != before->drop[slot][r])
				snapshot_put_drop(o, slot_meanings[slot].stage, r,
						  now->drop[slot][r] - before->drop[slot][r]);
}

static void snapshot_put_counters(struct delta_out *o)
{
	struct cpu_counters *before = &o->probe->last->counters;
	struct cpu_counters *now = malloc(sizeof(*now));

	if (!now) {
		o->err = -ENOMEM;
		return;
	}
	snapshot_merge_counters(o->probe, now);
	snapshot_add_losses_seen(o, now, before);
	if (o->sink) {
		snapshot_put_losses(o, now, before);
		snapshot_put_drops(o, now, before);
	}
	*before = *now;
	free(now);
}

/* Returns the new runs skipped by the kernel, as the program would have interrupted itself. */
static uint64_t snapshot_new_recursion(const struct pkt_probe *probe, const struct pkt_hook *h,
				       uint64_t *before)
{
	uint64_t skipped = prog_stats_skipped(pkt_find_program(probe, h));
	/* a lower number: the counter was unreadable */
	uint64_t more = skipped > *before ? skipped - *before : 0;

	*before += more;
	return more;
}

static void snapshot_put_recursion(struct delta_out *o)
{
	const struct function *f = pkt_function_bound(o->probe);
	uint64_t misses;

	for (int i = 0; pkt_hooks[i].at.target; i++) {
		const struct pkt_hook *h = &pkt_hooks[i];

		if (o->probe->status[i].state != HOOK_BOUND)
			continue;
		misses = snapshot_new_recursion(o->probe, h, &o->probe->last->recursion[i]);
		/*
		 * Skipped runs at UDP's send calls: a datagram without a known send call already
		 * counts as lost at `segment`.
		 */
		if (h->stage == STAGE_NONE && h->protocol == PROTO_UDP &&
		    !o->probe->config.pid)
			continue;
		/*
		 * The hook of `sent` runs for all freed packets: its skipped runs count as losses
		 * only if packets were sent.
		 */
		if (o->sink && (h->stage != STAGE_SENT || o->seen[STAGE_SENT][ROW_TCP] ||
				o->seen[STAGE_SENT][ROW_UDP]))
			snapshot_put_count(o, COUNT_LOSS, h->stage, h->protocol, "recursion",
					   misses, COUNT_EXACT);
	}
	misses = f ? snapshot_new_recursion(o->probe, &f->hook, &o->probe->last->function_recursion)
		   : 0;
	if (o->sink)
		snapshot_put_count(o, COUNT_LOSS, STAGE_PROBE, PROTO_ANY, "recursion", misses,
				   COUNT_EXACT);
}

/* ---- scheduler ---- */

static void snapshot_put_share(struct delta_out *o)
{
	for (int p = 0; p < ROW_PROTOS; p++) {
		struct cpu_share now = {}, *before = &o->probe->last->share[p];
		struct event_share e = { .protocol = pkt_protocol[p] };

		for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
			const struct cpu_share *s = &pkt_cpu(o->probe, cpu)->share[p];

			now.packets += s->packets;
			now.waited += s->waited;
			now.busy += s->busy;
			now.wake += s->wake;
			now.wait += s->wait;
			now.run += s->run;
			now.stopped += s->stopped;
		}
		e.packets = now.packets - before->packets;
		e.waited = now.waited - before->waited;
		e.busy_ns = now.busy - before->busy;
		e.wake_ns = now.wake - before->wake;
		e.wait_ns = now.wait - before->wait;
		e.run_ns = now.run - before->run;
		e.stopped_ns = now.stopped - before->stopped;
		*before = now;
		if (o->sink && e.packets)
			snapshot_put(o, EV_SHARE, &e, sizeof(e));
	}
}

/*
 * Returns the index of a task in the table of culprits (tasks that held a CPU while a reader
 * waited), or else of a free entry; CULPRIT_MAX: the table is full.
 */
static uint32_t snapshot_culprit_place(const struct pkt_probe *probe, uint32_t pid)
{
	uint32_t place = CULPRIT_MAX;

	for (uint32_t i = 0; i < CULPRIT_MAX; i++) {
		if (probe->last->culprit_pid[i] == pid)
			return i;
		if (!probe->last->culprit_pid[i] && place == CULPRIT_MAX)
			place = i;
	}
	return place;
}

static void snapshot_put_culprit(struct delta_out *o, uint32_t pid, const struct culprit *k,
				 const struct culprit *before)
{
	struct event_culprit e = {
		.tid = pid, .pid = k->tgid,
		.ns = k->ns - before->ns, .count = k->count - before->count,
	};

	memcpy(e.comm, k->comm, sizeof(e.comm));
	if (o->sink && (e.ns || e.count))
		snapshot_put(o, EV_CULPRIT, &e, sizeof(e));
}

/*
 * Puts for how long and how often a task held a CPU, since the last snapshot, while readers waited.
 * Deletes the map entry of a task that did not, as short-lived tasks would fill the map. The
 * deletion returns the final values, including late additions of programs.
 */
static void snapshot_update_culprit(struct delta_out *o, int fd, uint32_t pid)
{
	uint32_t place = snapshot_culprit_place(o->probe, pid);
	struct culprit k, *before;

	if (place == CULPRIT_MAX || bpf_map_lookup_elem(fd, &pid, &k))
		return;
	before = &o->probe->last->culprit[place];
	o->probe->last->culprit_pid[place] = pid;
	if (k.count && k.count == before->count && k.ns == before->ns &&
	    !bpf_map_lookup_and_delete_elem(fd, &pid, &k)) {
		snapshot_put_culprit(o, pid, &k, before);
		o->probe->last->culprit_pid[place] = 0;
		*before = (struct culprit){};
		return;
	}
	snapshot_put_culprit(o, pid, &k, before);
	*before = k;
}

static void snapshot_put_culprits(struct delta_out *o)
{
	int fd = bpf_map__fd(o->probe->skel->maps.culprits);
	uint32_t pids[CULPRIT_MAX], n = 0;

	/* Collects all keys first: after a deletion, bpf_map_get_next_key() begins again. */
	while (n < CULPRIT_MAX && !bpf_map_get_next_key(fd, n ? &pids[n - 1] : NULL, &pids[n]))
		n++;
	for (uint32_t i = 0; i < n; i++)
		snapshot_update_culprit(o, fd, pids[i]);
}

/* ---- snapshots ---- */

static void snapshot_sum_seen(struct delta_out *o)
{
	for (int p = 0; p < ROW_PROTOS; p++) {
		uint64_t most = 0;

		for (int stage = 0; stage < STAGE_MAX; stage++)
			if (stage_direction(stage) == DIR_INGRESS && o->seen[stage][p] > most)
				most = o->seen[stage][p];
		o->probe->seen[p] += most;
	}
}

static void snapshot_put_pressure(struct delta_out *o)
{
	struct host_pressure now, gain;
	struct event_pressure e;

	host_pressure_read(NULL, &now);
	host_pressure_since(&o->probe->last->pressure, &now, &gain);
	o->probe->last->pressure = now;
	e = (struct event_pressure){
		.busy_ns = gain.busy_ns, .stall_ns = gain.stall_ns, .packets = gain.packets,
		.flags = (gain.busy_known ? 0 : PRESSURE_NO_BUSY) |
			 (gain.stall_known ? 0 : PRESSURE_NO_STALL) |
			 (gain.packets_cpus ? 0 : PRESSURE_NO_PACKETS),
	};
	if (o->sink)
		snapshot_put(o, EV_PRESSURE, &e, sizeof(e));
}

static void snapshot_put_all(struct delta_out *o)
{
	int err;

	deltas_rows(o);
	pkt_groups_put(o);
	pkt_irq_stats_put(o);
	snapshot_put_pressure(o);
	snapshot_put_counters(o);
	snapshot_put_share(o);
	snapshot_put_culprits(o);
	snapshot_put_recursion(o);
	err = pkt_put_other_traffic(o->probe, o->sink, o->dict, o->now);
	if (!o->err)
		o->err = err;
	snapshot_sum_seen(o);
}

static void snapshot_put_cost_unknown(struct delta_out *o, struct event_interval *e)
{
	struct cost *c = o->probe->cost;

	e->flags |= INTERVAL_NO_BPF_COST;
	if (!c->why_said)
		event_put_fact(o->sink, o->now, "own-cost", c->why);
	c->why_said = true;
}

void pkt_snapshot_skip(struct pkt_probe *probe)
{
	struct delta_out o = { .probe = probe, .now = clock_now() };

	snapshot_put_all(&o);
}

void pkt_snapshot_begin(struct pkt_probe *probe)
{
	uint64_t ns;
	bool exact;

	probe->skel->bss->measured_since = clock_now();
	pkt_snapshot_skip(probe);
	pkt_slow_put(probe, NULL, NULL, 0);
	pkt_cost_bpf_ns(probe, &ns, &exact);
	probe->last->to_ns = clock_now();
	probe->last->user_ns = clock_cpu();
}

/* Returns the number of online CPUs: offline CPUs have counters, but no CPU time. */
static uint32_t snapshot_online_cpus(const struct pkt_probe *probe)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (uint32_t)n : probe->ncpus;
}

int pkt_snapshot_put(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		   uint32_t flags)
{
	struct delta_out o = { .probe = probe, .sink = sink, .dict = dict, .now = clock_now() };
	struct event_interval e = {
		.seq = probe->last->seq++, .from_ns = probe->last->to_ns, .to_ns = o.now,
		.ncpus = snapshot_online_cpus(probe), .flags = flags, .one_in = probe->one_in,
	};
	uint64_t user, bpf;
	bool exact;

	snapshot_put_all(&o);
	if (!o.err)
		o.err = pkt_slow_put(probe, sink, dict, o.now);
	if (!o.err) /* EV_CLOCK comes after the slow messages, as it covers their times */
		o.err = pkt_probe_clock(probe, sink);
	if (!o.err)
		o.err = pkt_messages_put_losses(probe, sink, dict, o.now);
	pkt_netns_follow(probe, o.not_covered, sink, o.now);
	user = clock_cpu();
	e.own_user_ns = user - probe->last->user_ns;
	if (!pkt_cost_bpf_ns(probe, &bpf, &exact))
		snapshot_put_cost_unknown(&o, &e);
	else if (!exact)
		e.flags |= INTERVAL_BPF_ESTIMATE;
	e.own_bpf_ns = bpf;
	if (probe->config.max_overhead > 0 && e.flags & INTERVAL_NO_BPF_COST)
		/* the overhead is unknown: it may exceed --max-overhead */
		e.flags |= INTERVAL_PARTIAL;
	if (!(e.flags & INTERVAL_NO_BPF_COST) &&
	    pkt_shed_load(probe, (double)(e.own_user_ns + bpf) / ((e.to_ns - e.from_ns) * e.ncpus)))
		e.flags |= INTERVAL_SHED | INTERVAL_PARTIAL;
	probe->last->user_ns = user;
	probe->last->to_ns = o.now;
	if (!o.err)
		o.err = event_dict_put_loss(o.dict, o.sink, o.now);
	snapshot_put(&o, EV_INTERVAL, &e, sizeof(e));
	return o.err;
}
