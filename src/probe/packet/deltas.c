/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as EV_HIST: what they have more than at the last snapshot, merged over CPUs. */
#include <string.h>

#include "probe/packet/deltas.h"

#define SLOT_MEANING(SLOT, stage, latency, step) [SLOT_##SLOT] = { stage, latency, step },
const struct slot_meaning slot_meanings[SLOT_MAX] = { SLOT_LIST(SLOT_MEANING) };

/* Whether the oldest and the youngest byte of these reads have the same age. */
static bool has_one_age(uint32_t slot)
{
	return slot == SLOT_READ || slot == SLOT_EARLY;
}

bool deltas_any_protocol(uint32_t stage)
{
	return stage == STAGE_PROBE || STAGE_BIT(stage) & ARRIVAL_STAGES;
}

/* By (protocol, slot, origin), as struct cpu_state has them. */
static struct stage_row *row_at(const struct pkt_probe *probe, uint32_t cpu, uint32_t id)
{
	return &pkt_cpu(probe, cpu)->row[0][0][0] + id;
}

/* A recording of the interval has left its minimum. */
static bool touched(const struct out *o, uint32_t id)
{
	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		const struct stage_row *r = row_at(o->probe, cpu, id);

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

void deltas_merge(struct row_hist *h, struct row_hist *sum)
{
	merge_extremes(h, sum);
	sum->sum += h->sum;
	sum->zero += h->zero;
	sum->over += h->over;
	for (uint32_t i = 0; i < ROW_BUCKETS; i++)
		sum->bucket[i] += h->bucket[i];
}

static void merge_row(const struct out *o, uint32_t id, struct stage_row *sum)
{
	memset(sum, 0, sizeof(*sum));
	sum->latency.min = sum->step.min = UINT64_MAX;
	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		struct stage_row *r = row_at(o->probe, cpu, id);

		deltas_merge(&r->latency, &sum->latency);
		deltas_merge(&r->step, &sum->step);
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
static bool step_is_latency(const struct pkt_probe *probe, uint32_t slot,
			    const struct event_hist *head)
{
	if (slot == SLOT_SEGMENT || (slot == SLOT_QDISC && head->protocol == PROTO_TCP))
		return true;
	if (slot != SLOT_TRANSPORT && (slot != SLOT_SOCKET || pkt_times_transport(probe)))
		return false;
	return head->origin == ORIGIN_LINK && !(probe->config.stages & (1U << STAGE_IP));
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
	if (slot_meanings[slot].latency == DIST_LATENCY)
		o->seen[slot_meanings[slot].stage][proto] += n;
}

static void put_dist(struct out *o, struct event_hist *head, uint8_t dist,
		     const struct row_hist *now, const struct row_hist *before)
{
	head->dist = dist;
	put_hist(o, head, now, before);
}

/* Which of the two that have one lowest bit. */
static uint8_t origin_of_row(const struct pkt_probe *probe, uint32_t slot, uint32_t proto,
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

/* Before the stack: by enum arrival_slot. */
static void arrival_row(struct out *o, uint32_t slot, uint32_t group, uint16_t flags,
			const struct stage_row *now, const struct stage_row *before)
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
	put_dist(o, &head, means[slot].dist, &now->latency, &before->latency);
	put_dist(o, &head, DIST_STEP, &now->step, &before->step);
}

void deltas_row(struct out *o, uint32_t id, uint32_t group, uint16_t flags, struct stage_row *now,
		  const struct stage_row *before)
{
	uint32_t slot = id / ORIGINS_AT_ONCE % SLOT_MAX;
	uint32_t proto = id / (ORIGINS_AT_ONCE * SLOT_MAX) % ROW_PROTOS;
	const struct slot_meaning *means = &slot_meanings[slot];
	struct event_hist head = {
		.stage = means->stage, .direction = stage_direction(means->stage),
		.protocol = pkt_protocol[proto], .group = group, .flags = flags,
		.origin = origin_of_row(o->probe, slot, proto, id % ORIGINS_AT_ONCE),
	};

	if (id >= ROWS) {
		arrival_row(o, id - ROWS, group, flags, now, before);
		return;
	}
	if (step_is_latency(o->probe, slot, &head))
		now->step = now->latency;
	see(o, slot, proto, count_of(&now->latency) - count_of(&before->latency));
	if (slot == SLOT_EARLY) { /* without a step: read before it was announced, steps of 0 */
		uint64_t all = count_of(&now->latency), stepped = count_of(&now->step);

		now->step.zero += all > stepped ? all - stepped : 0; /* less: one came meanwhile */
		now->step.min = now->step.zero != before->step.zero ? 0 : now->step.min;
	}
	if (!o->sink)
		return;
	put_dist(o, &head, means->latency, &now->latency, &before->latency);
	put_dist(o, &head, means->step, &now->step, &before->step);
	if (has_one_age(slot) && !pkt_samples(o->probe)) /* of a sample it isn't known */
		put_dist(o, &head, DIST_YOUNGEST, &now->latency, &before->latency);
}

/* With --by they hold what is in no group; but waits for a CPU have none. */
static uint16_t flags_of_row(const struct pkt_probe *probe, uint32_t id)
{
	bool grouped = probe->config.by && id / ORIGINS_AT_ONCE % SLOT_MAX != SLOT_CPU_WAIT;

	return grouped ? HIST_OVERFLOW_GROUP : 0;
}

void deltas_rows(struct out *o)
{
	for (uint32_t id = 0; id < ROWS; id++) {
		struct stage_row *before = &o->probe->row_before[id], now;

		if (!touched(o, id))
			continue;
		merge_row(o, id, &now);
		deltas_row(o, id, 0, flags_of_row(o->probe, id), &now, before);
		*before = now;
	}
}
