/* SPDX-License-Identifier: Apache-2.0 */
#include "load/engine_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "event/memsource.h"
#include "load/causes.h"
#include "load/interference.h"
#include "load/polled.h"
#include "load/setup.h"

/*
 * Largest size in bytes of the queue of events other than samples, which is emptied before each
 * block of samples. It is largest when the threads report their first connections.
 */
#define QUEUE_LIMIT (256UL << 20)
#define FLOWS_AT_ONCE 4096

/* State of one thread, used by the consuming thread. */
struct thread_view {
	struct load_thread *thread;
	struct load_tick tick; /* the thread's last consumed tick (counters every 100 ms) */
	bool last;             /* `tick` is the final tick of the thread */
	uint64_t preempted_ns; /* preempted time since the stream's last tick (EV_LOAD), in ns */
};

struct engine_source {
	struct event_source source;
	struct thread_view *views;
	uint32_t n_views, agent;
	uint32_t turn;           /* index of the thread to read next */
	struct thread_view *lent; /* thread whose samples were returned last; or NULL */
	uint64_t n_lent;
	struct event_memsource *queue;
	struct interference_host interference;
	uint64_t last_tick_ns;
	uint64_t nic_error_ns;
	uint64_t polled;         /* busy-polled packets counted when the source was made */
	bool done;               /* the final EV_LOAD event (LOAD_FINAL) is in the queue */
};

static const struct load_tick *next_tick(const struct thread_view *v)
{
	uint64_t n;
	const struct load_tick *tick = spsc_peek(&v->thread->ticks, 1, &n);

	return n ? tick : NULL;
}

/* ---- samples ---- */

/*
 * Returns the samples before the thread's next tick (counters every LOAD_TICK_NS); without a tick,
 * all. The tick is read after the samples, so that they also precede a tick that comes later.
 */
static const struct event_sample *engine_source_samples(const struct thread_view *v, uint64_t *n)
{
	struct spsc_queue *queue = &v->thread->samples;
	const struct event_sample *at =
		spsc_peek(queue, EVENT_BLOCK_SIZE / sizeof(struct event_sample), n);
	const struct load_tick *tick = next_tick(v);

	if (tick && tick->samples - queue->tail < *n)
		*n = tick->samples - queue->tail;
	return at;
}

static int put_flows(struct engine_source *p, struct thread_view *v, int *any)
{
	uint64_t n, i;
	const struct event_flow *flows = spsc_peek(&v->thread->flows, FLOWS_AT_ONCE, &n);
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = event_put(event_memsource_sink(p->queue), EV_FLOW, p->last_tick_ns,
				&flows[i], sizeof(flows[i]));
	spsc_consume(&v->thread->flows, n);
	*any |= n > 0;
	return err;
}

static void engine_source_lend(struct engine_source *p, struct thread_view *v,
			       const struct event_sample *at, uint64_t n, struct event_block *block)
{
	uint64_t i, reach = UINT64_MAX;

	for (i = 0; i < n; i++)
		reach = at[i].intended < reach ? at[i].intended : reach;
	*block = (struct event_block){
		.kind = EV_SAMPLE,
		.core = LOAD_CORE(p->agent, v->thread->index),
		.count = n,
		.record_size = sizeof(*at),
		.first = at[0].done,
		.last = at[n - 1].done,
		.reach = reach,
		.size = n * sizeof(*at),
		.data = at,
	};
	p->lent = v;
	p->n_lent = n;
}

/*
 * Gets a block of samples. Returns 1: `block` is set; 0: no samples; 2: EV_FLOW events were put
 * into the queue, which must be read first.
 */
static int next_samples(struct engine_source *p, struct event_block *block)
{
	const struct event_sample *at;
	struct thread_view *v;
	uint32_t i;
	uint64_t n;
	int err, any = 0;

	for (i = 0; i < p->n_views; i++) {
		v = &p->views[(p->turn + i) % p->n_views];
		at = engine_source_samples(v, &n);
		/*
		 * A thread pushes a connection's EV_FLOW before the connection's samples, so
		 * EV_FLOW events that are read after samples include all those of the samples.
		 */
		err = put_flows(p, v, &any);
		if (err || any)
			return err ? err : 2;
		if (!n)
			continue;
		engine_source_lend(p, v, at, n, block);
		p->turn = (p->turn + i + 1) % p->n_views;
		return 1;
	}
	return 0;
}

/* ---- ticks ---- */

/*
 * Finds the number of the tick (counters every LOAD_TICK_NS) that every thread has reached. Returns
 * 1: found; 0: a thread has no tick yet; 2: more samples precede the tick.
 */
static int common_tick(const struct engine_source *p, uint64_t *number)
{
	const struct load_tick *tick;
	const struct thread_view *v;

	*number = 0;
	for (v = p->views; v < p->views + p->n_views; v++) {
		if (v->last)
			continue;
		tick = next_tick(v);
		if (!tick)
			return 0;
		if (tick->samples != v->thread->samples.tail)
			return 2;
		if (tick->number != UINT64_MAX && tick->number > *number)
			*number = tick->number;
	}
	return 1;
}

/*
 * Consumes the threads' ticks (counters every LOAD_TICK_NS) up to `number`. A thread skips ticks if
 * its queue was full. Sets `final` if all threads are at their last tick. Returns false if a thread
 * has not reached tick `number`.
 */
static bool engine_source_consume_ticks(struct engine_source *p, uint64_t number, bool *final)
{
	const struct load_tick *tick;
	struct thread_view *v;
	bool all = true;
	uint32_t i;

	*final = true;
	for (i = 0; i < p->n_views; i++) {
		v = &p->views[i];
		tick = v->last ? NULL : next_tick(v);
		if (tick && (tick->number <= number || tick->number == UINT64_MAX)) {
			v->tick = *tick;
			v->preempted_ns += tick->preempted_ns;
			v->last = tick->number == UINT64_MAX;
			all &= v->last || tick->number == number;
			spsc_consume(&v->thread->ticks, 1);
		}
		*final &= v->last;
	}
	return all;
}

static void engine_source_add_counts(struct event_load *sum, const struct event_load *load,
				     bool first)
{
	const uint64_t oldest = first || load->oldest_ns < sum->oldest_ns ? load->oldest_ns
									  : sum->oldest_ns;
	const uint32_t all = LOAD_STARTED | LOAD_EXHAUSTED | LOAD_UNREACHABLE | LOAD_MISSES |
			     LOAD_CLOSES;
	const uint32_t any = (sum->flags | load->flags) &
			     (LOAD_NO_SCHEDSTAT | LOAD_YIELDED | LOAD_NODE_BUSY);
	const __u64 *from = &load->scheduled;
	__u64 *to = &sum->scheduled;
	size_t i;

	sum->flags = (first ? load->flags & all : sum->flags & load->flags & all) | any;
	sum->started_ns = load->started_ns;
	sum->oldest_ns = oldest;
	for (i = 0; i < (sizeof(*sum) - offsetof(struct event_load, scheduled)) / sizeof(*to); i++)
		to[i] += from[i];
}

static int engine_source_put_interference(struct engine_source *p, uint64_t now)
{
	struct event_sink *sink = event_memsource_sink(p->queue);
	uint64_t cpus = 0, n, k, preempted = 0;
	uint32_t i;
	int err = 0;

	for (i = 0; i < p->n_views; i++) {
		struct spsc_queue *gaps = &p->views[i].thread->interference.gaps;
		const struct interference_span *span = spsc_peek(gaps, UINT64_MAX, &n);

		for (k = 0; k < n && !err; k++)
			err = interference_put(sink, p->agent, NOISE_GAP, span[k].begin,
					       span[k].end, span[k].end - span[k].begin);
		spsc_consume(gaps, n);
		preempted += p->views[i].preempted_ns;
		p->views[i].preempted_ns = 0;
		if (p->views[i].tick.cpu < 64)
			cpus |= 1ULL << p->views[i].tick.cpu;
	}
	if (!err && preempted)
		err = interference_put(sink, p->agent, NOISE_PREEMPTED, p->last_tick_ns, now,
				       preempted);
	return err ? err
		   : interference_host_tick(&p->interference, sink, p->agent, now, cpus,
					    p->n_views);
}

/* Puts LOAD_FACT_NIC_ERROR, the largest conversion error of NIC time stamps, if NICs stamp. */
static int put_nic_error(struct engine_source *p, uint64_t now)
{
	char text[24];

	if (!p->views[0].thread->n_nics)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, p->nic_error_ns);
	return event_put_fact(event_memsource_sink(p->queue), now, LOAD_FACT_NIC_ERROR, text);
}

/* Puts which thread took which samples. The threads have ended. */
static int engine_source_put_threads(struct engine_source *p, uint64_t now)
{
	char text[48];
	int err = 0;

	for (uint32_t i = 0; i < p->n_views && !err; i++) {
		const struct load_thread *t = p->views[i].thread;

		snprintf(text, sizeof(text), "%" PRIu32 " %d", LOAD_CORE(p->agent, t->index),
			 (int)t->tid);
		err = event_put_fact(event_memsource_sink(p->queue), now, LOAD_FACT_THREAD, text);
	}
	return err;
}

/*
 * Puts an EV_FACT event per cause of failures, over all threads. The threads have ended, so their
 * tables of causes no longer change.
 */
static int engine_source_put_causes(struct engine_source *p, uint64_t now)
{
	struct causes all = { 0 };

	for (uint32_t i = 0; i < p->n_views; i++)
		causes_add(&all, &p->views[i].thread->causes);
	return causes_put(&all, event_memsource_sink(p->queue), now);
}

static int put_tls(struct engine_source *p, uint64_t now)
{
	struct tls_counts all = { 0 };

	for (uint32_t i = 0; i < p->n_views; i++) {
		all.handshakes += p->views[i].thread->tls.handshakes;
		all.resumed += p->views[i].thread->tls.resumed;
	}
	return tls_counts_put(&all, event_memsource_sink(p->queue), now);
}

static int engine_source_put_cluster(struct engine_source *p, uint64_t now)
{
	struct cluster_counts all = { 0 };

	for (uint32_t i = 0; i < p->n_views; i++) {
		all.nodes = p->views[i].thread->cluster.nodes;
		all.moved += p->views[i].thread->cluster.moved;
		all.asked += p->views[i].thread->cluster.asked;
	}
	return cluster_counts_put(&all, event_memsource_sink(p->queue), now);
}

/* Puts how long connections took to open, over all threads, which have ended. */
static int engine_source_put_dial_times(struct engine_source *p, uint64_t now)
{
	struct dial_times all;
	int err = dial_times_init(&all);

	for (uint32_t i = 0; i < p->n_views && !err; i++)
		err = dial_times_add(&all, &p->views[i].thread->dial_times);
	if (!err)
		err = dial_times_put(&all, event_memsource_sink(p->queue), now);
	dial_times_release(&all);
	return err;
}

static int put_tick(struct engine_source *p, bool final)
{
	struct event_sink *sink = event_memsource_sink(p->queue);
	struct event_load sum = { .agent = p->agent };
	const struct event_clock *clock = &p->views[0].tick.clock;
	uint64_t now = 0;
	uint32_t i;
	int err;

	for (i = 0; i < p->n_views; i++) {
		engine_source_add_counts(&sum, &p->views[i].tick.load, i == 0);
		if (p->views[i].tick.at_ns > now)
			now = p->views[i].tick.at_ns;
		if (p->views[i].tick.nic_error_ns > p->nic_error_ns)
			p->nic_error_ns = p->views[i].tick.nic_error_ns;
	}
	sum.flags |= final ? LOAD_FINAL : 0;
	err = clock->mono_ns ? event_put(sink, EV_CLOCK, now, clock, sizeof(*clock)) : 0;
	if (!err)
		err = engine_source_put_interference(p, now);
	if (!err && final)
		err = put_nic_error(p, now) ?: engine_source_put_threads(p, now);
	if (!err && final)
		err = engine_source_put_causes(p, now) ?: engine_source_put_dial_times(p, now);
	if (!err && final)
		err = put_tls(p, now) ?: engine_source_put_cluster(p, now);
	if (!err && final)
		err = polled_put(p->views[0].thread, p->n_views, p->polled, sink, now);
	sum.flags |= p->interference.unread ? LOAD_NO_STAT : 0;
	if (!err)
		err = event_put(sink, EV_LOAD, now, &sum, sizeof(sum));
	p->last_tick_ns = now;
	p->done = final;
	return err;
}

/*
 * Puts the next tick (EV_LOAD, every LOAD_TICK_NS) into the queue. Returns 2: read the queue again;
 * 0: no tick yet; or -errno.
 */
static int next_ticks(struct engine_source *p)
{
	uint64_t number;
	bool final;
	int ret = p->done ? 0 : common_tick(p, &number);

	if (ret != 1)
		return ret;
	ret = engine_source_consume_ticks(p, number, &final) ? put_tick(p, final) : 0;
	return ret ? ret : 2;
}

/* ---- event source ---- */

static int engine_source_next(struct event_source *source, struct event_block *block)
{
	struct engine_source *p = (void *)source;
	int ret;

	if (p->lent)
		spsc_consume(&p->lent->thread->samples, p->n_lent);
	p->lent = NULL;
	do {
		ret = event_source_next(event_memsource_source(p->queue), block);
		if (!ret)
			ret = next_samples(p, block);
		if (!ret)
			ret = next_ticks(p);
	} while (ret == 2);
	return ret;
}

static int engine_source_rewind(struct event_source *source)
{
	(void)source;
	return -ESPIPE;
}

static int engine_source_seek(struct event_source *source, const struct event_window *window)
{
	(void)source;
	(void)window;
	return -ESPIPE;
}

static void engine_source_damage(const struct event_source *source, struct event_damage *damage)
{
	event_source_damage(event_memsource_source(((const struct engine_source *)source)->queue),
			    damage);
}

static void engine_source_free_nothing(struct event_source *source)
{
	(void)source; /* frees nothing: the engine frees `source` */
}

int engine_source_new(struct engine_source **out, struct load_thread *threads, uint32_t n_threads,
		      uint32_t agent)
{
	static const struct event_source_ops ops = {
		.next = engine_source_next, .rewind = engine_source_rewind,
		.seek = engine_source_seek, .damage = engine_source_damage,
		.free = engine_source_free_nothing,
	};
	struct engine_source *p = calloc(1, sizeof(*p));
	uint32_t i;
	int err;

	if (!p)
		return -ENOMEM;
	p->source.ops = &ops;
	p->agent = agent;
	p->n_views = n_threads;
	p->last_tick_ns = clock_now();
	p->polled = polled_packets();
	interference_host_init(&p->interference, clock_system());
	p->views = calloc(n_threads, sizeof(*p->views));
	err = p->views ? event_memsource_new(&p->queue, QUEUE_LIMIT) : -ENOMEM;
	if (err) {
		engine_source_free(p);
		return err;
	}
	for (i = 0; i < n_threads; i++)
		p->views[i].thread = &threads[i];
	*out = p;
	return 0;
}

void engine_source_free(struct engine_source *p)
{
	if (!p)
		return;
	interference_host_release(&p->interference);
	event_memsource_free(p->queue);
	free(p->views);
	free(p);
}

struct event_source *engine_source_events(struct engine_source *p)
{
	return &p->source;
}

struct event_sink *engine_source_sink(struct engine_source *p)
{
	return event_memsource_sink(p->queue);
}
