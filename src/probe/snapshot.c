/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs counted, as events: differences to the previous snapshot, merged over CPUs.
 *
 * Counters are never reset, so nothing that happens during a reading is lost: it belongs to the
 * next interval. Only the extremes are per interval, and begin anew.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "event/names.h"
#include "probe/watch_internal.h"
#include "bpf/watch.skel.h"

struct out {
	struct watch_probe *probe;
	struct event_sink *sink;
	struct event_dict *dict;
	uint64_t now;
	bool not_covered; /* packets in namespaces without our hook */
	uint64_t seen[STAGE_MAX][ROW_PROTOS]; /* measured or lost */
	int err;        /* the first of the sink */
};

/* What a slot's row says: its latency, and its step or what is in place of one. */
static const struct {
	uint8_t stage, latency, step;
	bool one_age; /* the oldest byte's is the youngest's, too */
} slot_is[SLOT_MAX] = {
	[SLOT_LINK] = { STAGE_LINK, DIST_LATENCY, DIST_STEP, false },
	[SLOT_IP] = { STAGE_IP, DIST_LATENCY, DIST_STEP, false },
	[SLOT_TRANSPORT] = { STAGE_TRANSPORT, DIST_LATENCY, DIST_STEP, false },
	[SLOT_ENQUEUED] = { STAGE_ENQUEUED, DIST_LATENCY, DIST_STEP, false },
	[SLOT_RUNNABLE] = { STAGE_RUNNABLE, DIST_LATENCY, DIST_STEP, false },
	[SLOT_RUNNING] = { STAGE_RUNNING, DIST_LATENCY, DIST_STEP, false },
	[SLOT_READ] = { STAGE_READ, DIST_LATENCY, DIST_STEP, true },
	[SLOT_MANY] = { STAGE_READ, DIST_LATENCY, DIST_YOUNGEST, false },
	[SLOT_CPU_WAIT] = { STAGE_READ, DIST_CPU_WAIT, DIST_STEP, false },
	[SLOT_EARLY] = { STAGE_READ, DIST_LATENCY, DIST_STEP, true },
	[SLOT_HOL] = { STAGE_ENQUEUED, DIST_HOL, DIST_STEP, false },
	[SLOT_SEGMENT] = { STAGE_SEGMENT, DIST_LATENCY, DIST_STEP, false },
	[SLOT_QDISC] = { STAGE_QDISC, DIST_LATENCY, DIST_STEP, false },
	[SLOT_PACING] = { STAGE_QDISC, DIST_PACING, DIST_STEP, false },
	[SLOT_DRIVER] = { STAGE_DRIVER, DIST_LATENCY, DIST_STEP, false },
	[SLOT_SENT] = { STAGE_SENT, DIST_LATENCY, DIST_STEP, false },
	[SLOT_ACKED] = { STAGE_ACKED, DIST_LATENCY, DIST_STEP, false },
};

static uint64_t mono(void)
{
	return clock_mono_ns(clock_system());
}

static void put(struct out *o, uint16_t kind, const void *payload, size_t size)
{
	int err = event_put(o->sink, kind, o->now, payload, size);

	if (!o->err)
		o->err = err;
}

static uint32_t name_id(struct out *o, const char *text)
{
	return event_dict_intern(o->dict, DICT_STRING, text, o->sink, o->now);
}

/* ---- rows ---- */

/* By (protocol, slot, origin), as struct cpu_state has them. */
static struct row *row_at(const struct watch_probe *probe, uint32_t cpu, uint32_t id)
{
	return &watch_cpu(probe, cpu)->row[0][0][0] + id;
}

/* A recording of the interval has left its minimum. */
static bool touched(const struct out *o, uint32_t id)
{
	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		const struct row *r = row_at(o->probe, cpu, id);

		if ((r->latency.min & r->step.min) != UINT64_MAX)
			return true;
	}
	return false;
}

/* The extremes of the interval that ends; the next one's begin. */
static void merge_extremes(struct row_hist *h, struct row_hist *sum)
{
	uint64_t min = __atomic_exchange_n(&h->min, UINT64_MAX, __ATOMIC_SEQ_CST);
	uint64_t max = __atomic_exchange_n(&h->max, 0, __ATOMIC_SEQ_CST);

	if (min < sum->min)
		sum->min = min;
	if (max > sum->max)
		sum->max = max;
}

static void merge_hist(const struct row_hist *h, struct row_hist *sum)
{
	sum->sum += h->sum;
	sum->zero += h->zero;
	sum->over += h->over;
	for (uint32_t i = 0; i < ROW_BUCKETS; i++)
		sum->bucket[i] += h->bucket[i];
}

static void merge_row(const struct out *o, uint32_t id, struct row *sum)
{
	memset(sum, 0, sizeof(*sum));
	sum->latency.min = sum->step.min = UINT64_MAX;
	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		struct row *r = row_at(o->probe, cpu, id);

		merge_extremes(&r->latency, &sum->latency);
		merge_extremes(&r->step, &sum->step);
		merge_hist(&r->latency, &sum->latency);
		merge_hist(&r->step, &sum->step);
	}
}

static void put_hist(struct out *o, struct event_hist *head, const struct row_hist *now,
		     const struct row_hist *before)
{
	struct event_bucket buckets[ROW_BUCKETS];
	uint32_t n = 0;
	int err;

	head->schema = ROW_SCHEMA;
	head->sum_ns = now->sum - before->sum;
	head->min_ns = now->min;
	head->max_ns = now->max;
	head->zero = now->zero - before->zero;
	head->over = now->over - before->over;
	for (uint32_t i = 0; i < ROW_BUCKETS; i++)
		if (now->bucket[i] != before->bucket[i])
			buckets[n++] = (struct event_bucket){
				.index = (int32_t)i,
				.count = now->bucket[i] - before->bucket[i],
			};
	if (!n && !head->zero && !head->over)
		return;
	head->n = n;
	err = event_put_array(o->sink, EV_HIST, o->now, head, sizeof(*head), buckets,
			      n * sizeof(buckets[0]));
	if (!o->err)
		o->err = err;
}

/* Where the stage before is the origin, the programs record the latency only. */
static bool step_is_latency(const struct watch_probe *probe, uint32_t slot,
			    const struct event_hist *head)
{
	if (slot == SLOT_QDISC || slot == SLOT_SEGMENT)
		return true;
	return slot == SLOT_TRANSPORT && head->origin == ORIGIN_LINK &&
	       !(probe->config.stages & (1U << STAGE_IP));
}

static uint64_t count_of(const struct row_hist *h)
{
	uint64_t n = h->zero + h->over;

	for (uint32_t i = 0; i < ROW_BUCKETS; i++)
		n += h->bucket[i];
	return n;
}

static void see(struct out *o, uint32_t slot, uint32_t proto, uint64_t n)
{
	if (slot_is[slot].latency == DIST_LATENCY)
		o->seen[slot_is[slot].stage][proto] += n;
}

static void put_dist(struct out *o, struct event_hist *head, uint8_t dist,
		     const struct row_hist *now, const struct row_hist *before)
{
	head->dist = dist;
	put_hist(o, head, now, before);
}

static void put_row(struct out *o, uint32_t id, uint32_t slot, struct event_hist *head)
{
	struct row *before = &o->probe->row_before[id], now;

	if (!touched(o, id))
		return;
	merge_row(o, id, &now);
	if (step_is_latency(o->probe, slot, head))
		now.step = now.latency;
	see(o, slot, head->protocol == PROTO_UDP ? ROW_UDP : ROW_TCP,
	    count_of(&now.latency) - count_of(&before->latency));
	if (slot == SLOT_EARLY) { /* without a step: read before it was announced, steps of 0 */
		now.step.zero += count_of(&now.latency) - count_of(&now.step);
		now.step.min = now.step.zero != before->step.zero ? 0 : now.step.min;
	}
	if (o->sink) {
		put_dist(o, head, slot_is[slot].latency, &now.latency, &before->latency);
		put_dist(o, head, slot_is[slot].step, &now.step, &before->step);
		if (slot_is[slot].one_age)
			put_dist(o, head, DIST_YOUNGEST, &now.latency, &before->latency);
	}
	*before = now;
}

/* Which of the two that have one lowest bit. */
static uint8_t origin_of_row(const struct watch_probe *probe, uint32_t slot, uint32_t index)
{
	if (slot_is[slot].stage == STAGE_SEGMENT)
		return ORIGIN_SEND;
	if (stage_direction(slot_is[slot].stage) == DIR_EGRESS)
		return ORIGIN_DEPARTURE;
	if (slot == SLOT_CPU_WAIT)
		return ORIGIN_LINK;
	if (probe->config.origin != ORIGIN_NONE)
		return probe->config.origin;
	if (index)
		return ORIGIN_STACK;
	return slot == SLOT_LINK ? ORIGIN_SENDER : ORIGIN_LINK;
}

static void put_rows(struct out *o)
{
	for (uint32_t id = 0; id < ROWS; id++) {
		uint32_t slot = id / ORIGINS_AT_ONCE % SLOT_MAX;
		struct event_hist head = {
			.stage = slot_is[slot].stage,
			.direction = stage_direction(slot_is[slot].stage),
			.protocol = watch_protocol[id / (ORIGINS_AT_ONCE * SLOT_MAX)],
			.origin = origin_of_row(o->probe, slot, id % ORIGINS_AT_ONCE),
		};

		put_row(o, id, slot, &head);
	}
}

/* ---- counters ---- */

static void merge_counters(const struct watch_probe *probe, struct cpu_counters *sum)
{
	const size_t n = sizeof(*sum) / sizeof(uint64_t);

	memset(sum, 0, sizeof(*sum));
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++) {
		const uint64_t *from = (const uint64_t *)&watch_cpu(probe, cpu)->count;
		uint64_t *to = (uint64_t *)sum;

		for (size_t i = 0; i < n; i++)
			to[i] += from[i];
	}
}

static void put_count(struct out *o, uint8_t what, uint8_t stage, uint8_t protocol,
		      const char *reason, uint64_t count)
{
	struct event_count e = {
		.what = what, .stage = stage, .protocol = protocol,
		.direction = stage_direction(stage), .count = count,
	};

	if (!count)
		return;
	e.reason = name_id(o, reason);
	put(o, EV_COUNT, &e, sizeof(e));
}

static uint64_t not_covered(const struct cpu_counters *c)
{
	uint64_t n = 0;

	for (int p = 0; p < ROW_PROTOS; p++)
		n += c->loss[SLOT_IP][LOSS_NOT_COVERED][p] +
		     c->loss[SLOT_TRANSPORT][LOSS_NOT_COVERED][p];
	return n;
}

static void see_losses(struct out *o, const struct cpu_counters *now,
		       const struct cpu_counters *before)
{
	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (int why = 0; why < LOSS_MAX; why++)
			for (int p = 0; p < ROW_PROTOS; p++)
				if (slot_is[slot].latency == DIST_LATENCY)
					o->seen[slot_is[slot].stage][p] +=
						now->loss[slot][why][p] -
						before->loss[slot][why][p];
}

static void put_losses(struct out *o, const struct cpu_counters *now,
		       const struct cpu_counters *before)
{
	o->not_covered = not_covered(now) != not_covered(before);
	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (int why = 0; why < LOSS_MAX; why++)
			for (int p = 0; p < ROW_PROTOS; p++)
				put_count(o, COUNT_LOSS, slot_is[slot].stage, watch_protocol[p],
					  watch_loss_names[why], now->loss[slot][why][p] -
					  before->loss[slot][why][p]);
	for (int why = 0; why < EXCL_MAX; why++)
		for (int p = 0; p < ROW_PROTOS; p++)
			put_count(o, COUNT_EXCLUDED, watch_excluded[why].stage, watch_protocol[p],
				  watch_excluded[why].name,
				  now->excluded[why][p] - before->excluded[why][p]);
}

static void put_drop(struct out *o, uint8_t stage, uint32_t reason, uint64_t count)
{
	char buf[32];
	const char *name = drop_reason_name(reason, buf, sizeof(buf));

	if (!drop_reason_is_duplicate(name))
		put_count(o, COUNT_DROP, stage, PROTO_ANY, name, count);
}

static void put_drops(struct out *o, const struct cpu_counters *now,
		      const struct cpu_counters *before)
{
	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (uint32_t r = 0; r < DROP_REASONS; r++)
			if (now->drop[slot][r] != before->drop[slot][r])
				put_drop(o, slot_is[slot].stage, r,
					 now->drop[slot][r] - before->drop[slot][r]);
}

static void put_counters(struct out *o)
{
	struct cpu_counters *before = &o->probe->counters_before;
	struct cpu_counters *now = malloc(sizeof(*now));

	if (!now) {
		o->err = -ENOMEM;
		return;
	}
	merge_counters(o->probe, now);
	see_losses(o, now, before);
	if (o->sink) {
		put_losses(o, now, before);
		put_drops(o, now, before);
	}
	*before = *now;
	free(now);
}

/* The kernel skips a program that would interrupt itself on its CPU; that packet is lost to us. */
static void put_recursion(struct out *o)
{
	for (int i = 0; hooks[i].target; i++) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);
		struct bpf_program *p;

		if (o->probe->status[i].state != HOOK_BOUND)
			continue;
		p = watch_program(o->probe, hooks[i].program);
		if (bpf_program__fd(p) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			continue;
		/* `sent` sees all that is freed: where nothing is sent, nothing was lost there */
		if (o->sink && (hooks[i].stage != STAGE_SENT || o->seen[STAGE_SENT][ROW_TCP]))
			put_count(o, COUNT_LOSS, hooks[i].stage, hooks[i].protocol, "recursion",
				  info.recursion_misses - o->probe->recursion_before[i]);
		o->probe->recursion_before[i] = info.recursion_misses;
	}
}

/* ---- scheduler ---- */

static void put_share(struct out *o)
{
	for (int p = 0; p < ROW_PROTOS; p++) {
		struct cpu_share now = {}, *before = &o->probe->share_before[p];
		struct event_share e = { .protocol = watch_protocol[p] };

		for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
			const struct cpu_share *s = &watch_cpu(o->probe, cpu)->share[p];

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
			put(o, EV_SHARE, &e, sizeof(e));
	}
}

/* Its place among those of the last snapshot, or a free one; CULPRIT_MAX: there is none. */
static uint32_t culprit_place(const struct watch_probe *probe, uint32_t pid)
{
	uint32_t place = CULPRIT_MAX;

	for (uint32_t i = 0; i < CULPRIT_MAX; i++) {
		if (probe->culprit_pid[i] == pid)
			return i;
		if (!probe->culprit_pid[i] && place == CULPRIT_MAX)
			place = i;
	}
	return place;
}

static void put_culprit(struct out *o, uint32_t pid, const struct culprit *k,
			const struct culprit *before)
{
	struct event_culprit e = {
		.tid = pid, .pid = k->tgid,
		.ns = k->ns - before->ns, .count = k->count - before->count,
	};

	memcpy(e.comm, k->comm, sizeof(e.comm));
	if (o->sink && (e.ns || e.count))
		put(o, EV_CULPRIT, &e, sizeof(e));
}

/*
 * Who took no CPU from a reader since the last snapshot makes room: else short-lived tasks would
 * fill the map for good. What the programs added meanwhile comes back with the deletion.
 */
static void take_culprit(struct out *o, int fd, uint32_t pid)
{
	uint32_t place = culprit_place(o->probe, pid);
	struct culprit k, *before;

	if (place == CULPRIT_MAX || bpf_map_lookup_elem(fd, &pid, &k))
		return;
	before = &o->probe->culprit_before[place];
	o->probe->culprit_pid[place] = pid;
	if (k.count && k.count == before->count && k.ns == before->ns &&
	    !bpf_map_lookup_and_delete_elem(fd, &pid, &k)) {
		put_culprit(o, pid, &k, before);
		o->probe->culprit_pid[place] = 0;
		*before = (struct culprit){};
		return;
	}
	put_culprit(o, pid, &k, before);
	*before = k;
}

static void put_culprits(struct out *o)
{
	int fd = bpf_map__fd(o->probe->skel->maps.culprits);
	uint32_t pids[CULPRIT_MAX], n = 0;

	/* All first: after a key that was deleted, the next one is the first again. */
	while (n < CULPRIT_MAX && !bpf_map_get_next_key(fd, n ? &pids[n - 1] : NULL, &pids[n]))
		n++;
	for (uint32_t i = 0; i < n; i++)
		take_culprit(o, fd, pids[i]);
}

/* ---- the whole ---- */

static void sum_seen(struct out *o)
{
	for (int p = 0; p < ROW_PROTOS; p++) {
		uint64_t most = 0;

		for (int stage = 0; stage < STAGE_MAX; stage++)
			if (stage_direction(stage) == DIR_INGRESS && o->seen[stage][p] > most)
				most = o->seen[stage][p];
		o->probe->seen[p] += most;
	}
}

static void take(struct out *o)
{
	put_rows(o);
	put_counters(o);
	put_share(o);
	put_culprits(o);
	put_recursion(o);
	sum_seen(o);
}

static void put_cost_unknown(struct out *o, struct event_interval *e)
{
	struct cost *c = &o->probe->cost;

	e->flags |= INTERVAL_NO_BPF_COST;
	if (!c->why_said)
		event_put_fact(o->sink, o->now, "own-cost", c->why);
	c->why_said = true;
}

void watch_count(struct watch_probe *probe)
{
	struct out o = { .probe = probe, .now = mono() };

	take(&o);
}

void watch_baseline(struct watch_probe *probe)
{
	uint64_t ns;
	bool exact;

	watch_count(probe);
	watch_slow(probe, NULL, NULL, 0);
	watch_bpf_ns(probe, &ns, &exact);
	probe->from_ns = mono();
	probe->user_before_ns = watch_user_ns();
}

/* Whose time there was; CPUs that could be plugged in have counters, but no time. */
static uint32_t online_cpus(const struct watch_probe *probe)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (uint32_t)n : probe->ncpus;
}

int watch_snapshot(struct watch_probe *probe, struct event_sink *sink, struct event_dict *dict,
		   uint32_t flags)
{
	struct out o = { .probe = probe, .sink = sink, .dict = dict, .now = mono() };
	struct event_interval e = {
		.seq = probe->seq++, .from_ns = probe->from_ns, .to_ns = o.now,
		.ncpus = online_cpus(probe), .flags = flags,
	};
	int err = watch_clock(probe, sink);
	uint64_t user, bpf;
	bool exact;

	take(&o);
	if (!o.err)
		o.err = watch_slow(probe, sink, dict, o.now);
	if (o.not_covered)
		watch_uncovered(probe, sink, o.now);
	user = watch_user_ns();
	e.own_user_ns = user - probe->user_before_ns;
	if (!watch_bpf_ns(probe, &bpf, &exact))
		put_cost_unknown(&o, &e);
	else if (!exact)
		e.flags |= INTERVAL_BPF_ESTIMATE;
	e.own_bpf_ns = bpf;
	probe->user_before_ns = user;
	probe->from_ns = o.now;
	put(&o, EV_INTERVAL, &e, sizeof(e));
	return o.err ? o.err : err;
}
