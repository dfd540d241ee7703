/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs counted, as events: differences to the previous snapshot, merged over CPUs.
 *
 * Counters are never reset, so nothing that happens during a reading is lost: it belongs to the
 * next interval. Only the extremes are per interval; see struct row.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/clock.h"
#include "event/names.h"
#include "probe/watch_internal.h"
#include "bpf/watch.skel.h"

struct out {
	struct watch_probe *probe;
	struct event_sink *sink;
	struct event_dict *dict;
	uint64_t now;
	uint32_t epoch; /* the one that this snapshot closes */
	bool not_covered; /* packets in namespaces without our hook */
	int err;        /* the first of the sink */
};

static const struct {
	uint8_t stage, dist;
} slot_is[SLOT_MAX] = {
	[SLOT_LINK] = { STAGE_LINK, DIST_LATENCY },
	[SLOT_IP] = { STAGE_IP, DIST_LATENCY },
	[SLOT_TRANSPORT] = { STAGE_TRANSPORT, DIST_LATENCY },
	[SLOT_ENQUEUED] = { STAGE_ENQUEUED, DIST_LATENCY },
	[SLOT_RUNNABLE] = { STAGE_RUNNABLE, DIST_LATENCY },
	[SLOT_RUNNING] = { STAGE_RUNNING, DIST_LATENCY },
	[SLOT_READ] = { STAGE_READ, DIST_LATENCY },
	[SLOT_YOUNGEST] = { STAGE_READ, DIST_YOUNGEST },
	[SLOT_CPU_WAIT] = { STAGE_READ, DIST_CPU_WAIT },
	[SLOT_EARLY] = { STAGE_READ, DIST_LATENCY },
	[SLOT_EARLY_YOUNGEST] = { STAGE_READ, DIST_YOUNGEST },
};

static const uint8_t origin_is[ROW_ORIGINS] = {
	[ROW_LINK] = ORIGIN_LINK, [ROW_STACK] = ORIGIN_STACK,
	[ROW_DELIVER] = ORIGIN_DELIVER, [ROW_SENDER] = ORIGIN_SENDER,
};

static const uint8_t protocol_is[ROW_PROTOS] = { [ROW_TCP] = PROTO_TCP, [ROW_UDP] = PROTO_UDP };

static const char *const loss_names[LOSS_MAX] = {
	[LOSS_NO_LINK_STAMP] = "no-link-stamp",
	[LOSS_STAMP_ZERO] = "stamp-zero",
	[LOSS_STAMP_FOREIGN] = "stamp-foreign",
	[LOSS_STAMP_FUTURE] = "stamp-future",
	[LOSS_CLOCK_UNSETTLED] = "clock-unsettled",
	[LOSS_NO_STORAGE] = "no-storage",
	[LOSS_FIFO_FULL] = "fifo-full",
	[LOSS_OOO_FULL] = "out-of-order-full",
	[LOSS_OOO_UNMATCHED] = "out-of-order-unmatched",
	[LOSS_NOT_ESTABLISHED] = "not-established",
	[LOSS_LOWAT] = "rcvlowat",
	[LOSS_NOT_COVERED] = "netns-not-covered",
	[LOSS_RACE] = "delivery-race",
	[LOSS_DESYNC] = "fifo-desync",
	[LOSS_UNSUPPORTED_SPLICE] = "unsupported-splice",
	[LOSS_MIXED_ORIGIN] = "mixed-origins",
	[LOSS_NEGATIVE] = "negative",
};

static const struct {
	const char *name;
	uint8_t stage;
} excluded_is[EXCL_MAX] = {
	[EXCL_PURE_ACK] = { "pure-ack", STAGE_TRANSPORT },
	[EXCL_DUPLICATE] = { "duplicate", STAGE_TRANSPORT },
	[EXCL_READER_RUNNING] = { "reader-already-running", STAGE_RUNNABLE },
	[EXCL_READER_EARLY] = { "reader-already-running", STAGE_RUNNABLE },
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

static const struct row *row_at(const struct watch_probe *probe, uint32_t cpu, uint32_t id)
{
	return &watch_cpu(probe, cpu)->row[id];
}

static bool touched(const struct out *o, uint32_t id)
{
	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++)
		if ((int32_t)(row_at(o->probe, cpu, id)->epoch - o->epoch) >= 0)
			return true;
	return false;
}

/* The extremes of the epoch that is being closed; the row may have turned to the next one. */
static void merge_extremes(const struct out *o, const struct row *r, const struct row_hist *h,
			   struct row_hist *sum)
{
	uint64_t min, max;

	if (r->epoch == o->epoch) {
		min = h->min;
		max = h->max;
	} else if (r->prev_epoch == o->epoch) {
		min = h->prev_min;
		max = h->prev_max;
	} else {
		return;
	}
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
		const struct row *r = row_at(o->probe, cpu, id);

		if (!r->epoch)
			continue;
		merge_hist(&r->latency, &sum->latency);
		merge_hist(&r->step, &sum->step);
		merge_extremes(o, r, &r->latency, &sum->latency);
		merge_extremes(o, r, &r->step, &sum->step);
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

/* `o` is NULL when only the baseline is taken. */
/* Where the stage before is the origin, the programs record the step as the latency: SAME_STEP. */
static bool step_is_latency(const struct watch_probe *probe, const struct event_hist *head)
{
	return head->stage == STAGE_TRANSPORT && head->origin == ORIGIN_LINK &&
	       !(probe->config.stages & (1U << STAGE_IP));
}

static void put_row(struct out *o, uint32_t id, struct event_hist *head)
{
	struct row *before = &o->probe->row_before[id], now;

	if (!touched(o, id))
		return;
	merge_row(o, id, &now);
	if (step_is_latency(o->probe, head))
		now.step = now.latency;
	if (o->sink) {
		put_hist(o, head, &now.latency, &before->latency);
		if (head->dist == DIST_LATENCY) {
			head->dist = DIST_STEP;
			put_hist(o, head, &now.step, &before->step);
		}
	}
	*before = now;
}

static void put_rows(struct out *o)
{
	for (uint32_t slot = 0; slot < SLOT_MAX; slot++) {
		struct event_hist head = {
			.stage = slot_is[slot].stage, .direction = DIR_INGRESS,
			.dist = slot_is[slot].dist, .flags = HIST_OVERFLOW_GROUP,
		};

		put_row(o, OVERFLOW_ROW(slot), &head);
	}
	for (uint32_t key = 0; key < ROW_KEYS; key++) {
		uint32_t id = o->probe->skel->bss->row_dir[key];
		uint32_t slot = key / (ROW_ORIGINS * ROW_PROTOS);
		struct event_hist head = {
			.stage = slot_is[slot].stage, .direction = DIR_INGRESS,
			.protocol = protocol_is[key % ROW_PROTOS],
			.origin = origin_is[key / ROW_PROTOS % ROW_ORIGINS],
			.dist = slot_is[slot].dist,
		};

		if (id >= ROW_FIRST)
			put_row(o, id, &head);
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
		.what = what, .stage = stage, .protocol = protocol, .direction = DIR_INGRESS,
		.count = count,
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

static void put_losses(struct out *o, const struct cpu_counters *now,
		       const struct cpu_counters *before)
{
	o->not_covered = not_covered(now) != not_covered(before);
	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (int why = 0; why < LOSS_MAX; why++)
			for (int p = 0; p < ROW_PROTOS; p++)
				put_count(o, COUNT_LOSS, slot_is[slot].stage, protocol_is[p],
					  loss_names[why], now->loss[slot][why][p] -
					  before->loss[slot][why][p]);
	for (int why = 0; why < EXCL_MAX; why++)
		for (int p = 0; p < ROW_PROTOS; p++)
			put_count(o, COUNT_EXCLUDED, excluded_is[why].stage, protocol_is[p],
				  excluded_is[why].name,
				  now->excluded[why][p] - before->excluded[why][p]);
}

static void put_drops(struct out *o, const struct cpu_counters *now,
		      const struct cpu_counters *before)
{
	char buf[32];

	for (int slot = 0; slot < SLOT_MAX; slot++)
		for (uint32_t r = 0; r < DROP_REASONS; r++)
			if (now->drop[slot][r] != before->drop[slot][r])
				put_count(o, COUNT_DROP, slot_is[slot].stage, PROTO_ANY,
					  drop_reason_name(r, buf, sizeof(buf)),
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
		if (o->sink)
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
		struct event_share e = { .protocol = protocol_is[p] };

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

static struct culprit *culprit_before(struct watch_probe *probe, uint32_t pid)
{
	for (int i = 0; i < CULPRIT_MAX; i++) {
		if (probe->culprit_before[i].count && probe->culprit_pid[i] != pid)
			continue;
		probe->culprit_pid[i] = pid;
		return &probe->culprit_before[i];
	}
	return NULL;
}

static void put_culprits(struct out *o)
{
	int fd = bpf_map__fd(o->probe->skel->maps.culprits);
	struct culprit k, *before;
	uint32_t pid, *last = NULL;

	while (!bpf_map_get_next_key(fd, last, &pid)) {
		struct event_culprit e = { .tid = pid };

		last = &pid;
		if (bpf_map_lookup_elem(fd, &pid, &k))
			continue;
		before = culprit_before(o->probe, pid);
		if (!before)
			break;
		e.pid = k.tgid;
		e.ns = k.ns - before->ns;
		e.count = k.count - before->count;
		memcpy(e.comm, k.comm, sizeof(e.comm));
		*before = k;
		if (o->sink && e.count)
			put(o, EV_CULPRIT, &e, sizeof(e));
	}
}

/* ---- namespaces without our netfilter hook ---- */

static bool covered(const struct watch_probe *probe, uint64_t inode)
{
	for (size_t i = 0; i < probe->n_netns; i++)
		if (probe->netns[i].inode == inode)
			return true;
	return false;
}

/* Which namespaces the packets came from that were counted as not covered. */
static void put_uncovered(struct out *o)
{
	struct host_netns_vec list = {};
	char text[sizeof(list.items->name) + 64];

	if (!o->probe->n_netns || host_netns_list(NULL, &list))
		goto out;
	for (size_t i = 0; i < list.len; i++) {
		const struct host_netns *ns = &list.items[i];

		if (covered(o->probe, ns->inode) ||
		    host_netns_find(&o->probe->uncovered, ns->inode) ||
		    (o->probe->config.netns && o->probe->config.netns != ns->inode))
			continue;
		snprintf(text, sizeof(text), "%s [%llu]: made after the start", ns->name,
			 (unsigned long long)ns->inode);
		event_put_fact(o->sink, o->now, "netns-uncovered", text);
	}
	host_netns_vec_release(&o->probe->uncovered);
	o->probe->uncovered = list;
	return;
out:
	host_netns_vec_release(&list);
}

/* ---- the whole ---- */

static void take(struct out *o)
{
	volatile uint32_t *epoch = &o->probe->skel->bss->epoch;

	o->epoch = *epoch;
	*epoch = o->epoch + 1;
	put_rows(o);
	put_counters(o);
	put_share(o);
	put_culprits(o);
	put_recursion(o);
}

void watch_baseline(struct watch_probe *probe)
{
	struct out o = { .probe = probe, .now = mono() };

	take(&o);
	probe->from_ns = mono();
	probe->user_before_ns = watch_user_ns();
}

int watch_snapshot(struct watch_probe *probe, struct event_sink *sink, struct event_dict *dict,
		   uint32_t flags)
{
	struct out o = { .probe = probe, .sink = sink, .dict = dict, .now = mono() };
	struct event_interval e = {
		.seq = probe->seq++, .from_ns = probe->from_ns, .to_ns = o.now,
		.ncpus = probe->ncpus, .flags = flags,
	};
	int err = watch_clock(probe, sink);
	uint64_t user;

	take(&o);
	if (o.not_covered)
		put_uncovered(&o);
	user = watch_user_ns();
	e.own_user_ns = user - probe->user_before_ns;
	if (!probe->metered_ns && probe->meter_fd < 0)
		e.flags |= INTERVAL_NO_BPF_COST;
	e.own_bpf_ns = watch_bpf_ns(probe, e.to_ns - e.from_ns);
	probe->user_before_ns = user;
	probe->from_ns = o.now;
	put(&o, EV_INTERVAL, &e, sizeof(e));
	return o.err ? o.err : err;
}
