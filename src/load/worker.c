/* SPDX-License-Identifier: Apache-2.0 */
#include "load/worker.h"

#include <errno.h>
#include <sched.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/conn.h"
#include "load/conn_queue.h"
#include "load/conn_resend.h"
#include "load/dial.h"
#include "load/thread_causes.h"
#include "load/request.h"
#include "load/polled.h"
#include "load/route.h"
#include "load/scheduling.h"
#include "load/worker_memory.h"

/* Largest number of requests to send before replies are read again. */
#define ASSIGN_MAX 64

/* ---- events ---- */

/* Handles a failed write, after reading replies that the server sent before it closed. */
static void lost_in_flush(struct load_thread *t, struct load_conn *c, int err)
{
	if (err == -EPIPE || err == -ECONNRESET)
		(void)conn_receive(t, c, true);
	dial_lost(t, c, err);
}

static void on_conn(struct load_thread *t, struct load_conn *c, uint32_t events)
{
	int err = 0;

	if (c->state != CONN_OPEN) {
		dial_event(t, c, events);
		return;
	}
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
		err = conn_receive(t, c, events & (EPOLLRDHUP | EPOLLHUP));
	if (!err && events & EPOLLERR)
		err = conn_errors(t, c);
	if (!err && c->blocked && events & EPOLLOUT) {
		err = conn_flush(t, c);
		if (err) {
			lost_in_flush(t, c, err);
			return;
		}
	}
	if (err)
		dial_lost(t, c, err);
	else if (c->retiring && !c->outstanding)
		dial_renew(t, c);
	else
		conn_settle(t, c);
}

static void on_clock(struct load_thread *t)
{
	clock_follow_update(t->follow, &t->clock);
}

static void flush_dirty(struct load_thread *t)
{
	struct load_conn *c;
	int err;

	while ((c = t->dirty)) {
		t->dirty = c->dirty_next;
		if (!t->dirty)
			t->dirty_end = &t->dirty;
		c->dirty = false;
		err = conn_flush(t, c);
		if (err)
			lost_in_flush(t, c, err);
		else if (c->retiring && !c->outstanding)
			dial_renew(t, c);
	}
}

/* ---- due requests and timers ---- */

static uint64_t worker_intended(const struct load_thread *t, uint64_t at)
{
	return at < t->schedule->n ? t->start_ns + t->schedule->at_ns[at] : UINT64_MAX;
}

/* Returns when the next request is due, ns; UINT64_MAX: never. */
static inline uint64_t next_due(const struct load_thread *t)
{
	if (t->stopped || t->phase != PHASE_RUN)
		return UINT64_MAX;
	if (t->config->loop == LOOP_CLOSED)
		return t->now < t->end_ns ? t->start_ns : UINT64_MAX;
	return worker_intended(t, t->next);
}

/* Gets the next request's number and due time. Returns false if no request is due. */
static bool worker_next_request(struct load_thread *t, uint64_t *number, uint64_t *at)
{
	*at = next_due(t);
	if (*at > t->now)
		return false;
	*number = t->next;
	t->next += t->config->threads;
	if (t->config->loop == LOOP_CLOSED)
		*at = t->now;
	return true;
}

/*
 * In a closed loop, every free connection gets requests. One gets all that it has room for before
 * the next, so that pipelined requests leave in one write.
 */
static struct load_conn *any_free(struct load_thread *t)
{
	const struct load_pool *pool = t->pools;

	if (t->config->loop == LOOP_OPEN || !t->filling || t->filling->free_at == LOAD_NONE)
		t->filling = &t->conns[pool->free[rng_below(&t->rng, pool->n_free)]];
	return t->filling;
}

/* Assigns due requests to any free connections. Returns how many. */
static inline unsigned int assign_due(struct load_thread *t)
{
	const struct load_pool *pool = t->pools;
	uint64_t number, at;
	unsigned int n;

	/* Resend first: the request pool holds resends, too, and must not run out. */
	for (n = 0; n < ASSIGN_MAX && pool->n_free && pool->resend; n++)
		conn_resend_first(t, any_free(t));
	for (; n < ASSIGN_MAX && pool->n_free && worker_next_request(t, &number, &at); n++)
		conn_assign(t, any_free(t), number, at);
	return n;
}

/* The same in a cluster, where requests wait for connections to their nodes. */
static unsigned int assign_routed(struct load_thread *t)
{
	unsigned int n = route_assign(t, ASSIGN_MAX);
	uint64_t number, at;

	for (; n < ASSIGN_MAX && route_accepts(t) && worker_next_request(t, &number, &at); n++)
		route_request(t, number, at);
	return n;
}

static void send_due(struct load_thread *t)
{
	unsigned int n, all = 0;

	/* Repeat: sending may free connections, and more requests become due meanwhile. */
	do {
		n = t->route ? assign_routed(t) : assign_due(t);
		flush_dirty(t);
		all += n;
	} while (n && all < ASSIGN_MAX);
}

static void time_out(struct load_thread *t, struct load_request *r)
{
	struct load_conn *c = r->conn;

	r->sample.done = t->now;
	thread_causes_note_timeout(t, r);
	if (r->awaits_resend) {
		conn_resend_drop(t, r);
		request_done(t, r, FAILURE_TIMEOUT);
		request_unqueued(t, r);
		return;
	}
	request_done(t, r, FAILURE_TIMEOUT);
	if (conn_cancel(t, c, r))
		return;
	/* A timed-out request's reply may still arrive, and must match no other request. */
	c->dead++;
	if (c->dead == c->outstanding)
		dial_lost(t, c, -ETIMEDOUT);
	else
		conn_settle(t, c);
}

/*
 * A timeout counts from queued_ns, by which `sent` is ordered, so that the first request times out
 * first. `sample.sent` is not in this order: a request may wait on a blocked socket.
 */
static uint64_t timeout_of(const struct load_thread *t, const struct load_request *r)
{
	return r->queued_ns + t->config->timeout_ns;
}

static struct load_request *worker_overdue(const struct load_thread *t)
{
	struct load_request *r = list_first(&t->sent, struct load_request, link);

	return r && timeout_of(t, r) <= t->now ? r : NULL;
}

/*
 * Times out overdue requests. If this thread did not run for a while, sockets may contain unread
 * replies, which are read first.
 */
static void time_out_due(struct load_thread *t)
{
	struct load_request *r;

	while ((r = worker_overdue(t))) {
		on_conn(t, r->conn, EPOLLIN);
		if (r == worker_overdue(t))
			time_out(t, r);
	}
}

static struct load_request *worker_awaiting_stamps_since(const struct load_thread *t, uint64_t ns)
{
	struct load_request *r = list_first(&t->awaiting_stamps, struct load_request, link);

	return r && r->sample.done + ns <= t->now ? r : NULL;
}

/* Stops waiting for stamps `ns` after a reply; reads stamps that have arrived first. */
static void worker_give_up_stamps(struct load_thread *t, uint64_t ns)
{
	struct load_request *r;

	while ((r = worker_awaiting_stamps_since(t, ns))) {
		if (r->conn->state == CONN_OPEN)
			on_conn(t, r->conn, EPOLLERR);
		if (r == worker_awaiting_stamps_since(t, ns))
			request_give_up(t, r);
	}
}

static void do_due(struct load_thread *t)
{
	time_out_due(t);
	worker_give_up_stamps(t, LOAD_HOLD_NS);
	dial_due(t);
}

static uint64_t next_timer(const struct load_thread *t)
{
	const struct load_request *r = list_first(&t->sent, struct load_request, link);
	uint64_t next = dial_next(t);

	if (r && timeout_of(t, r) < next)
		next = timeout_of(t, r);
	r = list_first(&t->awaiting_stamps, struct load_request, link);
	if (r && r->sample.done + LOAD_HOLD_NS < next)
		next = r->sample.done + LOAD_HOLD_NS;
	return next;
}

static void round_of(struct load_thread *t, uint64_t until_ns)
{
	const bool busy = t->config->role == ROLE_LATENCY && t->assigned;
	const bool takes = t->route ? route_accepts(t) : t->pools->n_free;
	const uint64_t timer = next_timer(t), due = takes ? next_due(t) : UINT64_MAX;
	struct load_conn *c = busy ? polled_conn(t) : NULL;
	uint64_t tag;
	int i, n;

	n = c ? polled_look(t, c)
	      : net_wait(&t->wait, t->now, due, timer < until_ns ? timer : until_ns, busy);
	t->now = t->wait.woken_ns;
	if (t->wait.gap_ns)
		interference_gap(&t->interference, t->wait.gap_ns, t->wait.gap_end_ns);
	for (i = 0; i < n; i++) {
		/*
		 * In an open loop, sends before each event. A closed loop sends after all replies
		 * are read, for fewer wakeups.
		 */
		if (t->phase == PHASE_RUN && t->config->loop == LOOP_OPEN)
			send_due(t);
		tag = t->wait.events[i].data.u64;
		if (tag == WORKER_CLOCK_TAG) {
			on_clock(t);
			continue;
		}
		c = &t->conns[tag & UINT32_MAX];
		if (tag >> 32 == c->generation)
			on_conn(t, c, t->wait.events[i].events);
	}
	if (t->now >= timer || t->retry[0].next != &t->retry[0])
		do_due(t);
}

/* ---- before the start ---- */

static void store_keys(struct load_thread *t)
{
	const struct load_pool *pool = t->pools;
	struct load_conn *c;
	uint32_t i;

	if (t->route)
		route_store(t);
	for (i = 0; !t->route && i < pool->n_free;) {
		c = &t->conns[pool->free[i]];
		if (!protocol_stores(c->target->protocol) ||
		    c->target->stored == c->target->workload.keys) {
			i++;
			continue;
		}
		conn_assign(t, c, c->target->stored++, t->now);
	}
	flush_dirty(t);
}

int worker_serve(struct load_thread *t, uint64_t wait_ns)
{
	t->now = clock_now();
	dial_due(t);
	flush_dirty(t);
	round_of(t, t->now + wait_ns);
	return t->dial_error;
}

int worker_prepare(struct load_thread *t, uint64_t wait_ns)
{
	t->now = clock_now();
	if (t->phase == PHASE_PRELOAD)
		store_keys(t);
	if (t->dial_error)
		return t->dial_error;
	if (t->count.failed) /* a request to store a key has failed */
		return -EREMOTEIO;
	if (t->n_open == t->n_conns && !t->assigned)
		return 1;
	dial_due(t);
	round_of(t, t->now + wait_ns);
	return t->dial_error;
}

/* ---- the thread ---- */

/* Counts requests that are due, whether sent or not. */
static void count_due(struct load_thread *t)
{
	const uint64_t upto = t->now < t->end_ns ? t->now : t->end_ns;

	if (t->config->loop == LOOP_CLOSED) {
		t->count.scheduled = t->taken + (t->route ? t->route->n_waiting : 0);
		return;
	}
	if (t->due < t->next)
		t->due = t->next;
	while (worker_intended(t, t->due) <= upto)
		t->due += t->config->threads;
	t->count.scheduled = t->due / t->config->threads;
}

static uint64_t worker_oldest(const struct load_thread *t)
{
	uint64_t waiting = t->config->loop == LOOP_OPEN ? worker_intended(t, t->next) : UINT64_MAX;

	if (t->route)
		waiting = route_oldest(t, waiting);
	return request_oldest(t, waiting < t->now ? waiting : t->now);
}

static bool worker_exhausted(const struct load_thread *t)
{
	return t->config->loop == LOOP_OPEN ? worker_intended(t, t->due) == UINT64_MAX
					    : t->now >= t->end_ns;
}

static void fill_clock(struct load_thread *t, struct event_clock *e)
{
	/* -EAGAIN: the clock is being set. The last parameters remain valid. */
	if (clock_follow_update(t->follow, &t->clock))
		return;
	*e = (struct event_clock){
		.mono_ns = t->clock.mono_ns,
		.realtime_minus_mono_ns = t->clock.offset_ns,
		.error_ns = t->clock.error_ns,
		.tai_offset_s = t->clock.tai_offset_s,
		.flags = t->clock.stepped ? CLOCK_STEPPED : 0,
	};
}

static void worker_tick(struct load_thread *t, bool last)
{
	struct load_tick *tick = spsc_reserve(&t->ticks);
	const uint64_t number = (t->now - t->start_ns) / LOAD_TICK_NS;

	t->tick_ns = t->start_ns + (number + 1) * LOAD_TICK_NS;
	if (t->config->priority == PRIORITY_REALTIME) {
		scheduling_yield(&t->yield, t->now, clock_thread_cpu());
		t->wait.frugal = t->yield.frugal;
	}
	/*
	 * If the queue is full, the next report of counters, LOAD_TICK_NS later, includes this one.
	 * The last report waits for space.
	 */
	if (!tick)
		return;
	*tick = (struct load_tick){
		.number = last ? UINT64_MAX : number,
		.at_ns = t->now,
		.samples = t->samples.head,
		.preempted_ns = interference_preempted(&t->interference),
		.cpu = sched_getcpu(),
	};
	if (!t->index)
		fill_clock(t, &tick->clock);
	else
		on_clock(t);
	worker_follow_phcs(t);
	tick->nic_error_ns = t->nic_error_ns;
	count_due(t);
	tick->load = t->count;
	tick->load.started_ns = t->start_ns;
	tick->load.oldest_ns = worker_oldest(t);
	tick->load.unsent = t->count.scheduled - t->taken;
	tick->load.in_flight = t->assigned;
	tick->load.cpu_ns = clock_thread_cpu();
	tick->load.spin_ns = t->wait.spun_ns;
	tick->load.open_connections = t->n_open;
	tick->load.flags = LOAD_STARTED | LOAD_MISSES | LOAD_CLOSES |
			   (worker_exhausted(t) ? LOAD_EXHAUSTED : 0) |
			   (t->n_failing == t->n_conns ? LOAD_UNREACHABLE : 0) |
			   (t->interference.unread ? LOAD_NO_SCHEDSTAT : 0) |
			   (t->yield.ever ? LOAD_YIELDED : 0) |
			   (t->route && t->route->n_waiting ? LOAD_NODE_BUSY : 0);
	spsc_commit(&t->ticks);
	thread_notify(t);
}

/* Returns whether nothing is left to send, and all requests ended or the drain time is over. */
static bool worker_finished(struct load_thread *t)
{
	const int command = __atomic_load_n(t->command, __ATOMIC_RELAXED);

	if (command == LOAD_ABANDON)
		return true;
	if (command >= LOAD_STOP && !t->stopped) {
		t->stopped = true;
		t->end_ns = t->now < t->end_ns ? t->now : t->end_ns;
	}
	if (command == LOAD_CUT)
		return true;
	if (t->now < t->end_ns)
		return false;
	if (t->now >= t->end_ns + t->config->drain_ns)
		return true;
	count_due(t);
	return !t->assigned && (t->stopped || t->count.scheduled == t->taken);
}

static void worker_begin(struct load_thread *t)
{
	t->tid = gettid();
	scheduling_apply(t->cpu, t->config->priority);
	interference_thread_begin(&t->interference);
	on_clock(t);
	worker_follow_phcs(t);
	t->now = clock_now();
	t->tick_ns = t->start_ns + LOAD_TICK_NS;
	t->end_ns = t->start_ns + t->config->duration_ns;
}

void *worker_run(void *thread)
{
	struct load_thread *t = thread;
	uint64_t until;

	worker_begin(t);
	while (t->now < t->start_ns)
		round_of(t, t->start_ns);
	while (!worker_finished(t)) {
		send_due(t);
		until = t->end_ns > t->now && t->end_ns < t->tick_ns ? t->end_ns : t->tick_ns;
		round_of(t, until);
		if (t->now < t->tick_ns)
			continue;
		/*
		 * Sends first, so that the tick's counters report as unsent only requests without
		 * a free connection.
		 */
		send_due(t);
		worker_tick(t, false);
	}
	worker_give_up_stamps(t, 0);
	while (!spsc_reserve(&t->ticks) &&
	       __atomic_load_n(t->command, __ATOMIC_RELAXED) != LOAD_ABANDON)
		clock_sleep_until(clock_system(), clock_now() + LOAD_TICK_NS);
	thread_clock(t);
	thread_causes_update_outage(t, true);
	worker_tick(t, true);
	return NULL;
}
