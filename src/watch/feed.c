/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads events. The source has checked the size and shape of each payload; this file checks the
 * numbers in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "event/names.h"
#include "watch/state.h"

struct watch *watch_new(uint64_t stages)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->stages = stages;
	w->hist_bytes_max = WATCH_HIST_BYTES_MAX;
	vec_init(&w->rows, WATCH_ROWS_MAX);
	vec_init(&w->order, WATCH_ROWS_MAX);
	vec_init(&w->counts, WATCH_COUNTS_MAX);
	vec_init(&w->tasks, WATCH_TASKS_MAX);
	vec_init(&w->bindings, WATCH_BINDINGS_MAX);
	vec_init(&w->groups, WATCH_GROUPS_MAX);
	vec_init(&w->queues, WATCH_QUEUES_MAX);
	vec_init(&w->softnets, WATCH_CPUS_MAX);
	vec_init(&w->uncovered, WATCH_UNCOVERED_MAX);
	vec_init(&w->missing, WATCH_MISSING_MAX);
	for (int span = 0; span < WATCH_SPANS; span++)
		vec_init(&w->slow[span].slowest, WATCH_SLOW_MAX);
	times_init(&w->times, TIMES_AUTO);
	w->names = event_dict_new();
	if (!w->names) {
		watch_free(w);
		return NULL;
	}
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	vec_for_each(&w->rows, row) {
		for (int i = 0; i < WATCH_SPANS * DIST_MAX; i++)
			hist_release(&(*row)->hists[i / DIST_MAX][i % DIST_MAX]);
		free(*row);
	}
	for (int i = 0; i < WATCH_SPANS * PROTO_MAX; i++)
		hist_release(&w->cpu_wait[i / PROTO_MAX][i % PROTO_MAX]);
	vec_for_each(&w->uncovered, name)
		free(*name);
	vec_for_each(&w->missing, hook)
		free(*hook);
	vec_release(&w->rows);
	vec_release(&w->order);
	vec_release(&w->counts);
	vec_release(&w->tasks);
	vec_release(&w->bindings);
	vec_release(&w->groups);
	vec_release(&w->queues);
	vec_release(&w->softnets);
	vec_release(&w->uncovered);
	vec_release(&w->missing);
	for (int span = 0; span < WATCH_SPANS; span++)
		vec_release(&w->slow[span].slowest);
	times_release(&w->times);
	event_dict_free(w->names);
	free(w->target);
	free(w->cost_unknown);
	free(w->other_traffic);
	free(w);
}

void watch_set_damage(struct watch *w, const struct event_damage *damage)
{
	w->damage = *damage;
}

void watch_set_times(struct watch *w, enum times_style style)
{
	w->times.style = style;
}

static int watch_feed_fact(struct watch *w, const struct event *event)
{
	const char *key, *value;
	char *copy, **one;
	int err;

	event_fact_get(event, &key, &value);
	if (strcmp(key, WATCH_FACT_SLOWER) == 0)
		return parse_u64(value, &w->slower_than_ns) ? -EBADMSG : 0;
	one = strcmp(key, WATCH_FACT_TARGET) == 0 ? &w->target :
	      strcmp(key, WATCH_FACT_OTHERS) == 0 ? &w->other_traffic :
	      strcmp(key, WATCH_FACT_COST) == 0 ? &w->cost_unknown : NULL;
	if (strcmp(key, WATCH_FACT_DROPS) == 0) {
		w->drops_unknown[0] |= strcmp(value, "received unknown") == 0;
		w->drops_unknown[1] |= strcmp(value, "sent unknown") == 0;
	}
	if (!one && strcmp(key, WATCH_FACT_UNCOVERED) != 0 && strcmp(key, WATCH_FACT_MISSING) != 0)
		return 0;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	if (one) {
		free(*one);
		*one = copy;
		return 0;
	}
	err = strcmp(key, WATCH_FACT_MISSING) == 0 ? vec_push(&w->missing, copy) :
						     vec_push(&w->uncovered, copy);
	if (err)
		free(copy);
	return err;
}

static int watch_feed_group(struct watch *w, const struct event *event)
{
	const struct event_group *group = event->payload;
	struct watch_group *mine;
	int err;

	if (!group->id || group->n > WATCH_LABELS_MAX)
		return -EBADMSG;
	mine = watch_group_get(w, group->id, &err);
	if (!mine)
		return err;
	mine->n = group->n;
	memcpy(mine->labels, group + 1, group->n * sizeof(mine->labels[0]));
	return 0;
}

/*
 * Returns the stage of an event. Recordings of hostlat 0.1 call TCP's `socket` stage `transport`.
 * The stage's binding, which precedes its other events, shows such a recording.
 */
static unsigned int watch_feed_stage(const struct watch *w, unsigned int stage,
				     unsigned int protocol)
{
	return w->transport_is_socket && stage == STAGE_TRANSPORT && protocol == PROTO_TCP ?
	       STAGE_SOCKET : stage;
}

static int watch_feed_binding(struct watch *w, const struct event *event)
{
	struct event_binding binding = *(const struct event_binding *)event->payload;
	struct event_binding *mine;
	int err;

	if (binding.stage == STAGE_NONE || binding.stage >= STAGE_MAX ||
	    binding.direction >= DIR_MAX || binding.protocol >= PROTO_MAX)
		return -EBADMSG;
	if (stage_was_socket(binding.stage, binding.protocol,
			     watch_name(w, DICT_STRING, binding.hook))) {
		w->transport_is_socket = true;
		if (w->stages >> STAGE_TRANSPORT & 1) /* in hostlat 0.1, this meant `socket` */
			w->stages |= 1ULL << STAGE_SOCKET;
	}
	binding.stage = (__u8)watch_feed_stage(w, binding.stage, binding.protocol);
	mine = watch_binding_get(w, &binding, &err);
	if (!mine)
		return err;
	*mine = binding;
	return 0;
}

static int watch_feed_clock(struct watch *w, const struct event *event)
{
	w->clock = *(const struct event_clock *)event->payload;
	w->clock_known = true;
	for (int span = 0; w->clock.flags & CLOCK_STEPPED && span < WATCH_SPANS; span++)
		w->periods[span].clock_steps++;
	return 0;
}

/*
 * Finds the lowest and highest index with values in a delta. Returns false for an impossible index.
 */
static bool watch_hist_range(const struct event_hist *delta, int32_t *from, int32_t *to)
{
	const struct event_bucket *buckets = (const struct event_bucket *)(delta + 1);

	*from = INT32_MAX;
	*to = INT32_MIN;
	for (uint32_t i = 0; i < delta->n; i++) {
		if (!hist_has_index(delta->schema, buckets[i].index))
			return false;
		if (!buckets[i].count)
			continue;
		*from = buckets[i].index < *from ? buckets[i].index : *from;
		*to = buckets[i].index > *to ? buckets[i].index : *to;
	}
	return true;
}

/*
 * Reserves memory for a delta's buckets in the row's two histograms: of the interval and of the
 * total. Returns 0 or -errno; -ENOBUFS: all distributions would exceed w->hist_bytes_max.
 */
static int watch_feed_reserve(struct watch *w, struct watch_row *row,
			      const struct event_hist *delta, int32_t from, int32_t to)
{
	size_t bytes = w->hist_bytes;
	int err = 0;

	for (int span = 0; from <= to && span < WATCH_SPANS; span++) {
		const struct hist *hist = &row->hists[span][delta->dist];

		bytes += hist_bytes_with(hist, delta->schema, from, to) - hist_bytes(hist);
	}
	if (bytes > w->hist_bytes && bytes > w->hist_bytes_max)
		return -ENOBUFS;
	for (int span = 0; !err && span < WATCH_SPANS; span++) {
		struct hist *hist = &row->hists[span][delta->dist];

		w->hist_bytes -= hist_bytes(hist);
		if (from <= to)
			err = hist_cover(hist, delta->schema, from, to);
		else if (delta->schema < hist->schema)
			hist_downscale(hist, delta->schema);
		w->hist_bytes += hist_bytes(hist);
	}
	return err;
}

/* Adds a delta to a histogram, for whose buckets watch_feed_reserve() has reserved memory. */
static void watch_feed_delta(struct hist *hist, const struct event_hist *delta)
{
	const struct event_bucket *buckets = (const struct event_bucket *)(delta + 1);

	for (uint32_t i = 0; i < delta->n; i++)
		BUG_ON(hist_add_scaled(hist, delta->schema, buckets[i].index, buckets[i].count));
	hist_add_zero(hist, delta->zero);
	hist_add_over(hist, delta->over);
	hist_add_stats(hist, delta->sum_ns, delta->min_ns, delta->max_ns);
}

static bool watch_hist_is_valid(const struct event_hist *delta)
{
	return delta->stage != STAGE_NONE && delta->stage < STAGE_MAX &&
	       delta->direction < DIR_MAX && delta->protocol < PROTO_MAX &&
	       delta->origin < ORIGIN_MAX && delta->dist < DIST_MAX &&
	       delta->schema >= BUCKET_SCHEMA_MIN && delta->schema <= BUCKET_SCHEMA_MAX;
}

static int watch_feed_hist(struct watch *w, const struct event *event)
{
	const struct event_hist *delta = event->payload;
	struct event_hist id;
	struct watch_row *row;
	int32_t from, to;
	int err;

	if (!watch_hist_is_valid(delta) || !watch_hist_range(delta, &from, &to))
		return -EBADMSG;
	id = *delta;
	id.stage = (__u8)watch_feed_stage(w, id.stage, id.protocol);
	row = watch_row_get(w, &id, &err);
	if (err)
		return err;
	err = watch_feed_reserve(w, row, delta, from, to);
	for (int span = 0; err == -ENOBUFS && span < WATCH_SPANS; span++)
		w->periods[span].no_room++;
	if (err)
		return err == -ENOBUFS ? WATCH_MORE : err;
	for (int span = 0; span < WATCH_SPANS; span++)
		watch_feed_delta(&row->hists[span][delta->dist], delta);
	row->measured[delta->dist] = true;
	return 0;
}

static int watch_feed_count(struct watch *w, const struct event *event)
{
	struct event_count delta;
	struct watch_count *count;
	int err;

	event_copy(event, &delta, sizeof(delta));
	if (delta.what >= COUNT_MAX || delta.stage >= STAGE_MAX ||
	    delta.protocol >= PROTO_MAX || delta.direction >= DIR_MAX)
		return -EBADMSG;
	delta.stage = (__u8)watch_feed_stage(w, delta.stage, delta.protocol);
	count = watch_count_get(w, &delta, &err);
	for (int span = 0; count && span < WATCH_SPANS; span++)
		count->count[span] += delta.count;
	if (count)
		count->exact = delta.flags & COUNT_EXACT;
	return err;
}

static void watch_add_share(struct event_share *sum, const struct event_share *delta,
			    uint64_t times)
{
	sum->packets += delta->packets * times;
	sum->waited += delta->waited * times;
	sum->busy_ns += delta->busy_ns * times;
	sum->wake_ns += delta->wake_ns * times;
	sum->wait_ns += delta->wait_ns * times;
	sum->run_ns += delta->run_ns * times;
	sum->stopped_ns += delta->stopped_ns * times;
}

static int watch_feed_share(struct watch *w, const struct event *event)
{
	struct event_share delta;

	event_copy(event, &delta, sizeof(delta));
	if (delta.protocol >= PROTO_MAX)
		return -EBADMSG;
	for (int span = 0; span < WATCH_SPANS; span++)
		watch_add_share(&w->shares[span][delta.protocol], &delta, 1);
	return 0;
}

static int watch_feed_culprit(struct watch *w, const struct event *event)
{
	const struct event_culprit *delta = event->payload;
	struct watch_task *task;
	int err;

	task = watch_task_get(w, delta, &err);
	for (int span = 0; task && span < WATCH_SPANS; span++) {
		task->ns[span] += delta->ns;
		task->count[span] += delta->count;
	}
	return err;
}

static int watch_feed_queue(struct watch *w, const struct event *event)
{
	const struct event_queue *delta = event->payload;
	struct watch_queue *queue;
	int err;

	if (delta->of >= QUEUE_OF_MAX)
		return -EBADMSG;
	queue = watch_queue_get(w, delta, &err);
	for (int span = 0; queue && span < WATCH_SPANS; span++) {
		struct event_queue *sum = &queue->sum[span];

		sum->polls += delta->polls;
		sum->work += delta->work;
		sum->full += delta->full;
		sum->received += delta->received;
		sum->merged += delta->merged;
		sum->passed += delta->passed;
	}
	return err;
}

static int watch_feed_softnet(struct watch *w, const struct event *event)
{
	const struct event_softnet *delta = event->payload;
	int err;
	struct watch_softnet *softnet = watch_softnet_get(w, delta->cpu, &err);

	for (int span = 0; softnet && span < WATCH_SPANS; span++) {
		struct event_softnet *sum = &softnet->sum[span];

		sum->processed += delta->processed;
		sum->dropped += delta->dropped;
		sum->squeezed += delta->squeezed;
		sum->rps += delta->rps;
		sum->flow_limit += delta->flow_limit;
	}
	return err;
}

static int watch_feed_slow(struct watch *w, const struct event *event)
{
	struct event_slow slow, *e = &slow;
	int err = 0;

	event_copy(event, e, sizeof(*e));
	if (e->direction != DIR_INGRESS || e->protocol >= PROTO_MAX || e->origin >= ORIGIN_MAX ||
	    !e->at_ns[SLOW_AT(STAGE_READ)] || e->at_ns[SLOW_AT(STAGE_READ)] > INT64_MAX)
		return -EBADMSG;
	if (watch_feed_stage(w, STAGE_TRANSPORT, e->protocol) == STAGE_SOCKET) {
		e->at_socket_ns = e->at_ns[SLOW_AT(STAGE_TRANSPORT)];
		e->at_ns[SLOW_AT(STAGE_TRANSPORT)] = 0;
	}
	for (int span = 0; !err && span < WATCH_SPANS; span++)
		err = watch_slow_add(&w->slow[span], e);
	return err;
}

/*
 * Returns true for kinds of events whose loss at a recording's size limit does not affect watch:
 * those of traces, messages, names and clocks. Watch's intervals are recorded completely or not at
 * all.
 */
static bool watch_feed_trace_time(uint32_t kind)
{
	return kind == EV_MESSAGE || kind == EV_FLOW || kind == EV_EDGE || kind == EV_WAKE ||
	       kind == EV_TASK || kind == EV_NAME || kind == EV_DOMAIN || kind == EV_CLOCK_PARAM;
}

static int watch_feed_loss(struct watch *w, const struct event *event)
{
	const struct event_loss *loss = event->payload;

	if (loss->why == LOSS_SIZE_LIMIT && watch_feed_trace_time(loss->kind))
		return 0;
	for (int span = 0; span < WATCH_SPANS; span++) {
		struct watch_period *p = &w->periods[span];

		*(loss->why == LOSS_DICT_FULL ? &p->names_lost : &p->lost_records) += loss->records;
	}
	return 0;
}

/* Scales a sampled interval to all packets: each measured packet stands for `one_in`. */
static int watch_feed_scale_sample(struct watch *w, uint64_t one_in)
{
	int err = 0;

	vec_for_each(&w->rows, item) {
		struct watch_row *row = *item;

		for (int dist = 0; dist < DIST_MAX && !err; dist++) {
			struct hist *mine = &row->hists[WATCH_INTERVAL][dist];

			if (!mine->count)
				continue;
			err = hist_merge_times(&row->hists[WATCH_TOTAL][dist], mine, one_in - 1);
			hist_multiply(mine, one_in);
		}
	}
	vec_for_each(&w->counts, count) {
		if (count->exact || count->id.what == COUNT_SUPPRESSED)
			continue;
		count->count[WATCH_TOTAL] += count->count[WATCH_INTERVAL] * (one_in - 1);
		count->count[WATCH_INTERVAL] *= one_in;
	}
	for (int p = 0; p < PROTO_MAX; p++) {
		const struct event_share share = w->shares[WATCH_INTERVAL][p];

		watch_add_share(&w->shares[WATCH_TOTAL][p], &share, one_in - 1);
		watch_add_share(&w->shares[WATCH_INTERVAL][p], &share, one_in - 1);
	}
	return err;
}

/* Stores how many packets each row has measured, before a sampled interval is scaled. */
static void watch_feed_note_sampled(struct watch *w)
{
	vec_for_each(&w->rows, item) {
		struct watch_row *row = *item;

		row->sampled[WATCH_INTERVAL] = row->hists[WATCH_INTERVAL][DIST_LATENCY].count;
		row->sampled[WATCH_TOTAL] += row->sampled[WATCH_INTERVAL];
	}
}

static int watch_feed_interval(struct watch *w, const struct event *event)
{
	struct event_interval delta;
	const struct event_interval *interval = &delta;
	int err = 0;

	event_copy(event, &delta, sizeof(delta));
	if (!delta.one_in)
		delta.one_in = 1;
	if (interval->to_ns < interval->from_ns || delta.one_in > WATCH_ONE_IN_MAX)
		return -EBADMSG;
	watch_feed_note_sampled(w);
	if (delta.one_in > 1)
		err = watch_feed_scale_sample(w, delta.one_in);
	if (err)
		return err;
	for (int span = 0; span < WATCH_SPANS; span++) {
		struct watch_period *p = &w->periods[span];

		if (!p->intervals++)
			p->from_ns = interval->from_ns;
		p->to_ns = interval->to_ns;
		p->own_user_ns += interval->own_user_ns;
		p->own_bpf_ns += interval->own_bpf_ns;
		p->bpf_cost_unknown |= interval->flags & INTERVAL_NO_BPF_COST;
		p->bpf_cost_estimated |= interval->flags & INTERVAL_BPF_ESTIMATE;
		p->cpu_ns += (interval->to_ns - interval->from_ns) * interval->ncpus;
		p->partial |= interval->flags & INTERVAL_PARTIAL;
		p->shed |= interval->flags & INTERVAL_SHED;
		p->one_in = interval->one_in;
		if (interval->one_in > p->one_in_max)
			p->one_in_max = interval->one_in;
	}
	w->closed = true;
	return WATCH_CLOSED;
}

/* Handlers by kind of event. `delta`: after an EV_INTERVAL, this event begins the next interval. */
static const struct {
	int (*feed)(struct watch *w, const struct event *event);
	bool delta;
} kinds[EV_RECORD_MAX] = {
	[EV_FACT] = { watch_feed_fact, false },
	[EV_CLOCK] = { watch_feed_clock, true },
	[EV_HIST] = { watch_feed_hist, true },
	[EV_COUNT] = { watch_feed_count, true },
	[EV_BINDING] = { watch_feed_binding, false },
	[EV_SHARE] = { watch_feed_share, true },
	[EV_CULPRIT] = { watch_feed_culprit, true },
	[EV_INTERVAL] = { watch_feed_interval, true },
	[EV_GROUP] = { watch_feed_group, false },
	[EV_LOSS] = { watch_feed_loss, true },
	[EV_SLOW] = { watch_feed_slow, true },
	[EV_QUEUE] = { watch_feed_queue, true },
	[EV_SOFTNET] = { watch_feed_softnet, true },
};

static int watch_feed_event(struct watch *w, const struct event *event)
{
	int err;

	if (event->kind == EV_NAME) {
		err = event_dict_set(w->names, event);
		return err == -EINVAL ? -EBADMSG : err;
	}
	if (event->kind >= EV_RECORD_MAX || !kinds[event->kind].feed)
		return WATCH_MORE;
	if (kinds[event->kind].delta && w->closed)
		watch_interval_reset(w);
	return kinds[event->kind].feed(w, event);
}

int watch_feed(struct watch *w, const struct event *event)
{
	int result = times_feed(&w->times, event) ?: watch_feed_event(w, event);

	for (int span = 0; result < 0 && span < WATCH_SPANS; span++) {
		w->periods[span].refused += result == -EBADMSG;
		w->periods[span].beyond += result == -E2BIG;
	}
	return result == -E2BIG ? WATCH_MORE : result;
}
