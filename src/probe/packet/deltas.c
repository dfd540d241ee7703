/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts rows, i.e. the histograms of a stage, protocol and origin, as EV_HIST events: counts since
 * the last snapshot, summed over CPUs.
 */
#include <string.h>

#include "probe/packet/deltas.h"
#include "probe/packet/hook_select.h"

#define SLOT_MEANING(SLOT, stage, latency, step) [SLOT_##SLOT] = { stage, latency, step },
const struct slot_meaning slot_meanings[SLOT_MAX] = { SLOT_LIST(SLOT_MEANING) };

/* Returns true for histograms of reads whose oldest and youngest byte have the same age. */
static bool has_one_age(uint32_t slot)
{
	return slot == SLOT_READ || slot == SLOT_EARLY;
}

bool deltas_any_protocol(uint32_t stage)
{
	return stage == STAGE_PROBE || STAGE_BIT(stage) & ARRIVAL_STAGES;
}

/*
 * Returns a CPU's row of histograms by its index in struct cpu_state: (protocol, slot, origin). A
 * slot is a stage or a part of a stage.
 */
static struct stage_row *deltas_row_at(const struct pkt_probe *probe, uint32_t cpu, uint32_t id)
{
	return &pkt_cpu(probe, cpu)->row[0][0][0] + id;
}

/*
 * Returns true if any CPU has recorded a latency in this interval in its histograms with index
 * `id`. Recording sets their minimum, which each snapshot resets.
 */
static bool deltas_row_is_touched(const struct delta_out *o, uint32_t id)
{
	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		const struct stage_row *r = deltas_row_at(o->probe, cpu, id);

		if ((r->latency.min & r->step.min) != UINT64_MAX)
			return true;
	}
	return false;
}

/* Moves the interval's minimum and maximum from `h` to `sum`, and resets them in `h`. */
static void deltas_merge_extremes(struct row_hist *h, struct row_hist *sum)
{
	uint64_t min = __atomic_exchange_n(&h->min, UINT64_MAX, __ATOMIC_SEQ_CST);
	uint64_t max = __atomic_exchange_n(&h->max, 0, __ATOMIC_SEQ_CST);

	if (min < sum->min)
		sum->min = min;
	if (max > sum->max)
		sum->max = max;
}

void deltas_merge(struct row_hist *h, struct row_hist *sum)
{
	deltas_merge_extremes(h, sum);
	sum->sum += h->sum;
	sum->zero += h->zero;
	sum->over += h->over;
	for (uint32_t i = 0; i < ROW_BUCKETS; i++)
		sum->bucket[i] += h->bucket[i];
}

static void deltas_merge_row(const struct delta_out *o, uint32_t id, struct stage_row *sum)
{
	memset(sum, 0, sizeof(*sum));
	sum->latency.min = sum->step.min = UINT64_MAX;
	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		struct stage_row *r = deltas_row_at(o->probe, cpu, id);

		deltas_merge(&r->latency, &sum->latency);
		deltas_merge(&r->step, &sum->step);
	}
}

static void deltas_put_hist(struct delta_out *o, struct event_hist *head,
			    const struct row_hist *now, const struct row_hist *before)
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

/*
 * Returns true if the latency since the origin is also the step since the previous stage, as that
 * stage is the origin. Programs then record only the latency.
 */
static bool step_is_latency(const struct pkt_probe *probe, uint32_t slot,
			    const struct event_hist *head)
{
	if (slot == SLOT_SEGMENT || (slot == SLOT_QDISC && head->protocol == PROTO_TCP))
		return true;
	if (slot != SLOT_TRANSPORT && (slot != SLOT_SOCKET || pkt_times_transport(probe)))
		return false;
	return head->origin == ORIGIN_LINK && !(probe->config.stages & (1U << STAGE_IP));
}

static uint64_t deltas_hist_count(const struct row_hist *h)
{
	uint64_t n = h->zero + h->over;

	for (uint32_t i = 0; i < ROW_BUCKETS; i++)
		n += h->bucket[i];
	return n;
}

static void deltas_add_seen(struct delta_out *o, uint32_t slot, uint32_t proto, uint64_t n)
{
	if (slot_meanings[slot].latency == DIST_LATENCY)
		o->seen[slot_meanings[slot].stage][proto] += n;
}

static void deltas_put_dist(struct delta_out *o, struct event_hist *head, uint8_t dist,
			    const struct row_hist *now, const struct row_hist *before)
{
	head->dist = dist;
	deltas_put_hist(o, head, now, before);
}

/*
 * Returns the origin of a histogram's latencies. A stage may have latencies from two origins at
 * once; `index` (0 or 1) selects one of them.
 */
static uint8_t deltas_row_origin(const struct pkt_probe *probe, uint32_t slot, uint32_t proto,
				 uint32_t index)
{
	if (slot_meanings[slot].stage == STAGE_SEGMENT)
		return ORIGIN_SEND;
	if (stage_direction(slot_meanings[slot].stage) == DIR_EGRESS)
		return proto == ROW_UDP ? ORIGIN_SEND : ORIGIN_DEPARTURE;
	if (slot == SLOT_CPU_WAIT)
		return ORIGIN_LINK;
	if (probe->config.origin != ORIGIN_NONE)
		return probe->config.origin;
	if (index)
		return ORIGIN_STACK;
	return slot == SLOT_LINK ? ORIGIN_SENDER : ORIGIN_LINK;
}

/*
 * Puts the histograms of a stage before the network stack (interrupt, poll, GRO, backlog) as
 * EV_HIST; slot: enum arrival_slot.
 */
static void deltas_put_arrival_row(struct delta_out *o, uint32_t slot, uint32_t group,
				   uint16_t flags, const struct stage_row *now,
				   const struct stage_row *before)
{
	static const struct {
		uint8_t stage, origin, dist;
	} means[ARRIVAL_SLOTS] = {
		[ARRIVAL_IRQ] = { STAGE_IRQ, ORIGIN_RAISE, DIST_LATENCY },
		[ARRIVAL_POLL] = { STAGE_POLL, ORIGIN_RAISE, DIST_LATENCY },
		[ARRIVAL_GRO] = { STAGE_LINK, ORIGIN_NONE, DIST_GRO },
		[ARRIVAL_BACKLOG] = { STAGE_LINK, ORIGIN_NONE, DIST_BACKLOG },
	};
	struct event_hist head = {
		.direction = DIR_INGRESS, .protocol = PROTO_ANY, .group = group, .flags = flags,
	};

	if (!o->sink || slot >= ARRIVAL_SLOTS)
		return;
	head.stage = means[slot].stage;
	head.origin = means[slot].origin;
	deltas_put_dist(o, &head, means[slot].dist, &now->latency, &before->latency);
	deltas_put_dist(o, &head, DIST_STEP, &now->step, &before->step);
}

void deltas_row(struct delta_out *o, uint32_t id, uint32_t group, uint16_t flags,
		struct stage_row *now, const struct stage_row *before)
{
	uint32_t slot = id / ORIGINS_AT_ONCE % SLOT_MAX;
	uint32_t proto = id / (ORIGINS_AT_ONCE * SLOT_MAX) % ROW_PROTOS;
	const struct slot_meaning *means = &slot_meanings[slot];
	struct event_hist head = {
		.stage = means->stage, .direction = stage_direction(means->stage),
		.protocol = pkt_protocol[proto], .group = group, .flags = flags,
		.origin = deltas_row_origin(o->probe, slot, proto, id % ORIGINS_AT_ONCE),
	};

	if (id >= ROWS) {
		deltas_put_arrival_row(o, id - ROWS, group, flags, now, before);
		return;
	}
	if (step_is_latency(o->probe, slot, &head))
		now->step = now->latency;
	deltas_add_seen(o, slot, proto,
			deltas_hist_count(&now->latency) - deltas_hist_count(&before->latency));
	/*
	 * Datagrams read before their sk_data_ready(): programs may record only the latency, for a
	 * step of 0. Each latency without a step adds a step of 0 here.
	 */
	if (slot == SLOT_EARLY) {
		uint64_t all = deltas_hist_count(&now->latency),
			 stepped = deltas_hist_count(&now->step);

		/* The latencies may be fewer, as the programs count while the row is read. */
		now->step.zero += all > stepped ? all - stepped : 0;
		now->step.min = now->step.zero != before->step.zero ? 0 : now->step.min;
	}
	if (!o->sink)
		return;
	deltas_put_dist(o, &head, means->latency, &now->latency, &before->latency);
	deltas_put_dist(o, &head, means->step, &now->step, &before->step);
	/* If packets are sampled, the age of a read's youngest byte is unknown. */
	if (has_one_age(slot) && !pkt_samples(o->probe))
		deltas_put_dist(o, &head, DIST_YOUNGEST, &now->latency, &before->latency);
}

/*
 * Returns the flags of histograms of no group: with --by, HIST_OVERFLOW_GROUP, as the tables of
 * groups and of their rows had no room for them. Waits for a CPU are never divided into groups.
 */
static uint16_t deltas_row_flags(const struct pkt_probe *probe, uint32_t id)
{
	bool grouped = probe->config.by && id / ORIGINS_AT_ONCE % SLOT_MAX != SLOT_CPU_WAIT;

	return grouped ? HIST_OVERFLOW_GROUP : 0;
}

void deltas_rows(struct delta_out *o)
{
	for (uint32_t id = 0; id < ROWS; id++) {
		struct stage_row *before = &o->probe->row_before[id], now;

		if (!deltas_row_is_touched(o, id))
			continue;
		deltas_merge_row(o, id, &now);
		deltas_row(o, id, 0, deltas_row_flags(o->probe, id), &now, before);
		*before = now;
	}
}
