/* SPDX-License-Identifier: Apache-2.0 */
/* Parses received bytes into queued requests, and handles epoll events and due replies. */
#include "load/serve_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "base/parse.h"
#include "clock/clock.h"
#include "load/serve_reply.h"

#define DATAGRAMS_AT_ONCE 64
#define LOOK_NS (50 * NS_PER_MS) /* interval at which a stalled worker checks `stop` */
#define LAG_MAX (1ULL << 36)
#define LAG_SCHEMA 5

/* ---- Requests ---- */

static void serve_conn_refuse(struct serve_context *x, struct serve_conn *c,
			      struct serve_request *r)
{
	const struct serve_protocol *p = x->shared->protocol;

	x->counts.refused++;
	r->refused = true;
	r->text = p->refusal;
	/* Close the connection instead if earlier replies or a slow peer would delay a refusal. */
	if ((p->by_id ? list_empty(&c->ready) : serve_idle(c)) && serve_may_send(x, c))
		serve_send(x, c, r);
	else if (!c->stream.datagram)
		serve_close(x, c, &x->counts.closed);
}

static uint64_t serve_conn_draw(const struct serve_shared *s, const struct serve_request *r,
				struct rng *rng)
{
	if (r->service_ns != SERVE_DRAWN)
		return r->service_ns;
	return s->service.kind ? (uint64_t)(dist_draw(&s->service, rng) + 0.5) : 0;
}

static bool serve_conn_stopped(const struct serve_context *x)
{
	return __atomic_load_n(&x->shared->stop, __ATOMIC_RELAXED);
}

/* Serves a request by spinning. Returns whether the service completed before the server's end. */
static bool serve_conn_spin(struct serve_context *x, struct serve_request *r)
{
	const struct serve_stall *stall = &x->shared->stall;
	uint64_t now = clock_now(), end, on;

	r->in_ns = x->read_ns;
	r->service_ns = serve_conn_draw(x->shared, r, &x->rng);
	end = serve_stall_after(stall, now, r->service_ns);
	for (; now < end && !serve_conn_stopped(x); now = clock_now()) {
		if (!serve_stalled(stall, now))
			continue;
		on = now - now % stall->every_ns + stall->length_ns;
		clock_sleep_until(clock_system(),
				  (int64_t)(on - now > LOOK_NS ? now + LOOK_NS : on));
	}
	if (now < end)
		return false;
	x->counts.busy_ns += r->service_ns;
	return true;
}

/* Adds a request to the queue shared by all threads. Returns its departure time, ns. */
static uint64_t enter_queue(struct serve_context *x, struct serve_request *r)
{
	struct serve_shared *s = x->shared;
	uint64_t leaves;

	pthread_mutex_lock(&s->lock);
	r->in_ns = clock_now();
	r->service_ns = serve_conn_draw(s, r, &s->rng);
	leaves = serve_queue_enter(&s->queue, r->in_ns, r->service_ns);
	pthread_mutex_unlock(&s->lock);
	x->counts.busy_ns += r->service_ns;
	return leaves;
}

static void serve_conn_request(struct serve_context *x, struct serve_conn *c,
			       struct serve_request *r)
{
	struct serve_shared *s = x->shared;
	struct serve_waiting *w;
	uint64_t leaves = 0;

	x->counts.requests++;
	c->no_more = r->last;
	if (x->agenda.heap.len >= SERVE_WAITING_MAX) {
		serve_conn_refuse(x, c, r);
		return;
	}
	if (s->spin && !serve_conn_spin(x, r)) {
		x->counts.unsent++;
		c->no_more = true;
		return;
	}
	if (s->spin)
		leaves = 0;
	else if (!s->at_once)
		leaves = enter_queue(x, r);
	if (leaves <= r->in_ns && serve_idle(c) && serve_may_send(x, c)) {
		serve_send(x, c, r);
		return;
	}
	w = serve_wait(x, c, r);
	if (w && leaves <= r->in_ns) {
		serve_make_ready(x, c, w);
	} else if (!w || serve_agenda_put(&x->agenda, leaves, w)) {
		if (w) {
			list_remove(&w->link);
			serve_waiting_free(x, w);
		}
		serve_conn_refuse(x, c, r);
	}
}

static void serve_conn_garbled(struct serve_context *x, struct serve_conn *c)
{
	x->counts.garbled++;
	c->no_more = true;
	if (c->request.text && serve_idle(c) && serve_may_send(x, c))
		serve_send(x, c, &c->request);
}

/* Parses requests. Returns the number of unparsed bytes at the end, which the caller stores. */
static size_t serve_conn_parse(struct serve_context *x, struct serve_conn *c, const char *data,
			       size_t size)
{
	while (!c->gone && !c->no_more && !serve_blocked(c)) {
		uint64_t n = c->skip < size ? c->skip : size;
		size_t used = 0;
		int ret;

		data += n;
		size -= n;
		c->skip -= n;
		if (c->skip)
			break;
		if (c->complete) {
			c->complete = false;
			serve_conn_request(x, c, &c->request);
			memset(&c->request, 0, offsetof(struct serve_request, key));
			continue;
		}
		if (!size)
			break;
		ret = x->shared->protocol->parse(&c->state, data, size, &used, &c->skip,
						 &c->request);
		if (ret < 0) {
			serve_conn_garbled(x, c);
			break;
		}
		c->complete = ret;
		data += used;
		size -= used;
		if (!ret && !used)
			break;
	}
	return c->gone || c->no_more ? 0 : size;
}

static void serve_conn_stash(struct serve_context *x, struct serve_conn *c, const char *data,
			     size_t size)
{
	c->stash_len = 0;
	if (!size)
		return;
	if (!c->stash)
		c->stash = malloc(SERVE_BUFFER);
	if (!c->stash) {
		serve_close(x, c, &x->counts.closed);
		return;
	}
	memcpy(c->stash, data, size);
	c->stash_len = size;
}

/* ---- Events ---- */

/*
 * Reads once, behind the stashed bytes, which are less than a whole request. Returns whether more
 * data may be available.
 */
static bool read_once(struct serve_context *x, struct serve_conn *c)
{
	struct net_rx_stamp unused;
	size_t stashed = c->stash_len, rest;
	bool drained = true;
	ssize_t n;

	BUG_ON(stashed >= SERVE_BUFFER);
	if (stashed)
		memcpy(x->in, c->stash, stashed);
	n = net_stream_read(&c->stream, x->in + stashed, SERVE_BUFFER - stashed, &unused, &drained);
	if (n == -EAGAIN)
		return false;
	if (n < 0) {
		serve_close(x, c, &x->counts.reset);
		return false;
	}
	x->counts.received += (size_t)n;
	x->read_ns = x->shared->spin ? clock_now() : 0;
	rest = serve_conn_parse(x, c, x->in, stashed + (size_t)n);
	if (!n)
		c->no_more = true;
	serve_conn_stash(x, c, x->in + stashed + n - rest, rest);
	return !drained;
}

/*
 * Reads a TLS stream until it has no more data, any other stream once: without TLS, epoll reports
 * remaining data again, after events of other connections.
 */
static void on_readable(struct serve_context *x, struct serve_conn *c)
{
	while (read_once(x, c) && c->stream.tls && !c->gone && !c->no_more && !serve_blocked(c))
		;
}

static void on_datagrams(struct serve_context *x, struct serve_conn *c)
{
	for (int i = 0; i < DATAGRAMS_AT_ONCE && !serve_conn_stopped(x); i++) {
		struct serve_state state = { 0 };
		struct serve_request r = { 0 };
		socklen_t len = sizeof(r.peer);
		uint64_t skip = 0;
		size_t used = 0;
		ssize_t n = recvfrom(c->stream.fd, x->in, SERVE_BUFFER, MSG_DONTWAIT,
				     (struct sockaddr *)&r.peer, &len);

		if (n < 0)
			return;
		x->counts.received += (size_t)n;
		x->read_ns = x->shared->spin ? clock_now() : 0;
		r.key_len = sizeof(r.peer);
		r.asked = (uint32_t)n;
		if (x->shared->protocol->parse(&state, x->in, (size_t)n, &used, &skip, &r) != 1 ||
		    used + skip != (uint64_t)n)
			x->counts.garbled++;
		else if (r.size > SERVE_DATAGRAM_MAX - SERVE_HEAD_MAX)
			serve_conn_refuse(x, c, &r);
		else
			serve_conn_request(x, c, &r);
	}
}

/* Sends pending replies, then parses the requests held back meanwhile. */
static void on_writable(struct serve_context *x, struct serve_conn *c)
{
	size_t rest;

	serve_send_unsent(x, c);
	if (serve_blocked(c) || c->gone)
		return;
	memcpy(x->in, c->stash ?: "", c->stash_len);
	rest = serve_conn_parse(x, c, x->in, c->stash_len);
	serve_conn_stash(x, c, x->in + c->stash_len - rest, rest);
	if (c->stream.tls && !c->gone && !c->no_more && !serve_blocked(c))
		on_readable(x, c);
}

static void on_handshake(struct serve_context *x, struct serve_conn *c)
{
	int ret = net_stream_handshake(&c->stream);

	if (ret < 0)
		serve_close(x, c, &x->counts.garbled);
	c->handshake = ret == 0;
	if (ret == 1)
		on_readable(x, c);
}

/* Called after each event: sends replies, and updates the events to wait for. */
static void serve_conn_settle(struct serve_context *x, struct serve_conn *c)
{
	const bool served = !serve_idle(c) && !serve_blocked(c);
	uint32_t events = EPOLLIN;

	serve_flush(x, c);
	if (c->gone)
		return;
	__atomic_store_n(&c->idle_ns, served ? UINT64_MAX : clock_now(), __ATOMIC_RELAXED);
	if (c->no_more && !serve_blocked(c) && serve_idle(c)) {
		serve_close(x, c, &x->counts.closed);
		return;
	}
	if (serve_blocked(c))
		events = EPOLLOUT;
	else if (c->no_more)
		events = 0;
	if (events != c->events || x->one_shot) {
		struct epoll_event e = {
			.events = events | (x->one_shot ? EPOLLONESHOT : 0), .data.ptr = c,
		};

		c->events = events;
		epoll_ctl(x->epoll, EPOLL_CTL_MOD, c->stream.fd, &e);
	}
}

void serve_conn_event(struct serve_context *x, void *tag, uint32_t events)
{
	struct serve_conn *c = tag;

	if (c->gone)
		return;
	__atomic_store_n(&c->idle_ns, UINT64_MAX, __ATOMIC_RELAXED);
	if (c->stream.datagram)
		on_datagrams(x, c);
	else if (c->handshake)
		on_handshake(x, c);
	else if (events & EPOLLOUT)
		on_writable(x, c);
	else if (events & EPOLLIN)
		on_readable(x, c);
	else if (events & (EPOLLERR | EPOLLHUP))
		serve_close(x, c, &x->counts.reset);
	serve_conn_settle(x, c);
}

uint64_t serve_conn_due(struct serve_context *x)
{
	const struct serve_due *due;

	while ((due = serve_agenda_first(&x->agenda)) != NULL) {
		struct serve_waiting *w = due->what;
		uint64_t now = clock_now(), at = due->at_ns;
		struct serve_conn *c = w->conn;

		if (at > now)
			return at;
		serve_agenda_drop_first(&x->agenda);
		if (!c) {
			serve_waiting_free(x, w);
			continue;
		}
		hist_record(&x->lag, now - at);
		serve_make_ready(x, c, w);
		serve_send_ready(x, c);
		serve_conn_settle(x, c);
	}
	return UINT64_MAX;
}

void serve_conn_sweep(struct serve_context *x)
{
	struct serve_conn *c;

	while ((c = list_first(&x->closed, struct serve_conn, closed)) != NULL) {
		list_remove(&c->closed);
		serve_conn_free(c);
	}
}

/* ---- Making and ending ---- */

int serve_conn_new(struct serve_context *x, const struct net_stream *stream)
{
	struct serve_conn *c = calloc(1, sizeof(*c));
	struct epoll_event e = {
		.events = EPOLLIN | (x->one_shot ? EPOLLONESHOT : 0), .data.ptr = c,
	};
	int err = 0;

	if (!c)
		return -ENOMEM;
	c->stream = *stream;
	c->handshake = stream->tls != NULL;
	c->events = EPOLLIN;
	c->idle_ns = clock_now();
	list_init(&c->waiting);
	list_init(&c->ready);
	/* After epoll_ctl(), the connection's thread may close it at any time, hence the lock. */
	pthread_mutex_lock(&x->shared->lock);
	list_append(&x->shared->conns, &c->all);
	if (epoll_ctl(x->epoll, EPOLL_CTL_ADD, stream->fd, &e)) {
		err = -errno;
		list_remove(&c->all);
		free(c);
	} else {
		x->shared->n_conns += !stream->datagram;
	}
	pthread_mutex_unlock(&x->shared->lock);
	return err;
}

uint64_t serve_conn_end_idle(struct serve_shared *shared, uint64_t idle_ns)
{
	const uint64_t now = clock_now();
	struct serve_conn *c;
	uint64_t n = 0;

	pthread_mutex_lock(&shared->lock);
	for (c = list_first(&shared->conns, struct serve_conn, all); c;
	     c = list_after(&shared->conns, c, struct serve_conn, all)) {
		const uint64_t since = __atomic_load_n(&c->idle_ns, __ATOMIC_RELAXED);

		if (c->stream.datagram || since == UINT64_MAX || now < since + idle_ns)
			continue;
		/*
		 * The connection no longer counts as idle, so that it is shut down only once. Its
		 * own thread sees the shutdown and closes the connection.
		 */
		__atomic_store_n(&c->idle_ns, UINT64_MAX, __ATOMIC_RELAXED);
		n += !shutdown(c->stream.fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&shared->lock);
	return n;
}

uint32_t serve_conn_count(struct serve_shared *shared)
{
	uint32_t n;

	pthread_mutex_lock(&shared->lock);
	n = shared->n_conns;
	pthread_mutex_unlock(&shared->lock);
	return n;
}

uint64_t serve_conn_close_all(struct serve_shared *shared)
{
	struct serve_conn *c;
	uint64_t n = 0;

	while ((c = list_first(&shared->conns, struct serve_conn, all)) != NULL) {
		list_remove(&c->all);
		n += !c->stream.datagram;
		net_stream_close(&c->stream);
		serve_conn_free(c);
	}
	return n;
}

int serve_context_init(struct serve_context *x, struct serve_shared *shared, int epoll,
		       bool one_shot, uint64_t seed)
{
	x->shared = shared;
	x->epoll = epoll;
	x->one_shot = one_shot;
	rng_init(&x->rng, seed);
	list_init(&x->closed);
	vec_init(&x->agenda.heap, SERVE_WAITING_MAX);
	hist_init(&x->lag, LAG_SCHEMA);
	hist_init(&x->latency, LAG_SCHEMA);
	return hist_reserve(&x->lag, 1, LAG_MAX) ?: hist_reserve(&x->latency, 1, LAG_MAX);
}

void serve_context_release(struct serve_context *x)
{
	struct serve_waiting *w;

	if (!x || !x->shared)
		return;
	serve_conn_sweep(x);
	for (const struct serve_due *due; (due = serve_agenda_first(&x->agenda)) != NULL;) {
		free(due->what);
		serve_agenda_drop_first(&x->agenda);
	}
	while ((w = x->spare) != NULL) {
		x->spare = w->spare;
		free(w);
	}
	vec_release(&x->agenda.heap);
	hist_release(&x->lag);
	hist_release(&x->latency);
}
