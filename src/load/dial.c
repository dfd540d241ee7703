/* SPDX-License-Identifier: Apache-2.0 */
#include "load/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/parse.h"
#include "load/conn.h"
#include "load/conn_queue.h"
#include "load/conn_resend.h"
#include "load/conn_session.h"
#include "load/thread_causes.h"

/* ---- flows ---- */

static void dial_copy_address(const struct sockaddr_storage *from, uint8_t out[16], uint16_t *port)
{
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;

	if (from->ss_family == AF_INET) {
		memcpy(out, &v4->sin_addr, 4);
		*port = ntohs(v4->sin_port);
	} else if (from->ss_family == AF_INET6) {
		memcpy(out, &v6->sin6_addr, 16);
		*port = ntohs(v6->sin6_port);
	}
}

static uint64_t dial_cookie(int fd, int option)
{
	uint64_t value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) ? 0 : value;
}

/* Gives the connection a flow number; 0 (unknown) if the queue to the consuming thread is full. */
static void make_flow(struct load_thread *t, struct load_conn *c)
{
	const uint64_t n = t->flows_made++ * t->config->threads + t->index + 1;
	struct sockaddr_storage local = {}, remote = {};
	socklen_t len = sizeof(local);
	struct event_flow flow = {
		.id = LOAD_FLOW(t->config->agent, n),
		.protocol = c->stream.datagram ? PROTO_UDP : PROTO_TCP,
	};

	if (c->stream.fd >= 0) {
		flow.netns_cookie = dial_cookie(c->stream.fd, SO_NETNS_COOKIE);
		flow.sock_cookie = dial_cookie(c->stream.fd, SO_COOKIE);
		if (!getsockname(c->stream.fd, (struct sockaddr *)&local, &len))
			dial_copy_address(&local, flow.local, &flow.local_port);
		len = sizeof(remote);
		if (!getpeername(c->stream.fd, (struct sockaddr *)&remote, &len))
			dial_copy_address(&remote, flow.remote, &flow.remote_port);
		if (local.ss_family == AF_INET || local.ss_family == AF_INET6)
			flow.family = local.ss_family;
	}
	c->flow = spsc_push(&t->flows, &flow) ? flow.id : 0;
}

/* ---- opened connections ---- */

static void dial_opened(struct load_thread *t, struct load_conn *c)
{
	uint64_t took;

	list_remove(&c->timer);
	t->n_connecting--;
	t->n_open++;
	c->tried = 0;
	if (c->lost_ns)
		dial_times_note(&t->dial_times, DIAL_RECONNECT, clock_now() - c->lost_ns);
	c->lost_ns = 0;
	if (!c->shut) {
		t->n_failing -= c->failing;
		c->failing = false;
	}
	thread_causes_update_outage(t, false);
	took = t->now - (c->timer_ns - t->config->timeout_ns);
	t->slowest_dial_ns = took > t->slowest_dial_ns ? took : t->slowest_dial_ns;
	t->count.connects++;
	c->state = CONN_OPEN;
	make_flow(t, c);
	conn_settle(t, c);
}

static void dial_retry(struct load_thread *t, struct load_conn *c)
{
	const uint64_t delay = c->backoff ? NS_PER_MS << (c->backoff - 1) : 0;

	c->timer_ns = t->now + delay;
	list_append(&t->retry[c->backoff], &c->timer);
}

static void back_off(struct load_conn *c)
{
	if (c->backoff < LOAD_BACKOFFS - 1)
		c->backoff++;
}

static void close_stream(struct load_thread *t, struct load_conn *c)
{
	struct match_tx *tx;

	while ((tx = list_first(&c->match.list, struct match_tx, link)))
		match_forget(&c->match, tx);
	net_stream_close(&c->stream);
	conn_session_close(c);
	if (c->state == CONN_OPEN) {
		t->n_open--;
		c->lost_ns = t->now;
	} else if (c->state != CONN_DOWN) {
		t->n_connecting--;
	}
	list_remove(&c->timer);
	c->state = CONN_DOWN;
	c->generation++;
	thread_causes_update_outage(t, false);
	conn_settle(t, c);
}

/* Stores the first error before the run, which is the reason why there is no run. */
static void give_up(struct load_thread *t, const struct load_conn *c, int err)
{
	if (t->phase == PHASE_RUN || t->dial_error)
		return;
	t->dial_error = err;
	t->dial_failed = c;
}

static void dial_fail(struct load_thread *t, struct load_conn *c, int err)
{
	const uint32_t at = c->address % c->target->n_addresses;

	if (!t->dial_error)
		t->dial_state = c->state;
	close_stream(t, c);
	__atomic_store_n(&c->target->errors[at], err, __ATOMIC_RELAXED);
	thread_causes_note_connection(t, c, err);
	c->address++;
	c->tried++;
	/* The connection is failing only if no address of the target works. */
	if (c->tried >= c->target->n_addresses) {
		c->tried = 0;
		t->n_failing += !c->failing;
		c->failing = true;
		back_off(c);
		give_up(t, c, err);
	}
	dial_retry(t, c);
}

/* ---- lost connections ---- */

/*
 * Handles a connection that ended before its first reply. The connection counts as failing until a
 * reply comes, even if opened again.
 */
static void dial_note_shut(struct load_thread *t, struct load_conn *c, int err)
{
	thread_causes_note_connection(t, c, err);
	t->shut++;
	c->shut = true;
	t->n_failing += !c->failing;
	c->failing = true;
	/*
	 * After a TLS alert, further connections would end with the same alert, so a run that has
	 * not begun is given up.
	 */
	if (c->stream.tls && (net_tls_lacks_cert(c->stream.tls) || err == -ECONNABORTED))
		give_up(t, c, err);
}

/* Handles a close by the server after replies, such as at a limit of requests or time. */
static void dial_note_close(struct load_thread *t, struct load_conn *c)
{
	t->count.closes++;
	if (t->phase == PHASE_RUN)
		conn_resend_queue_all(t, c);
}

void dial_lost(struct load_thread *t, struct load_conn *c, int err)
{
	if (c->replies && (err == -EPIPE || err == -ECONNRESET))
		dial_note_close(t, c);
	/* Garbled bytes fail no request if none is outstanding: the connection notes the cause. */
	if (c->replies && err == -EPROTO && !c->head)
		thread_causes_note_connection(t, c, err);
	conn_fail(t, c, err);
	if (!c->replies && err != -ETIMEDOUT)
		dial_note_shut(t, c, err);
	close_stream(t, c);
	/* A connection that got replies is reopened at once, any other connection after a delay. */
	if (c->replies)
		c->backoff = 0;
	else
		back_off(c);
	dial_retry(t, c);
}

void dial_renew(struct load_thread *t, struct load_conn *c)
{
	conn_session_finish(t, c);
	close_stream(t, c);
	c->backoff = 0;
	dial_retry(t, c);
}

/* ---- TLS handshake and greeting ---- */

/*
 * Sends the greeting, the first bytes of a connection in some protocols (Redis: HELLO, AUTH,
 * SELECT). They always fit into a new socket's buffer.
 */
static int dial_greet(struct load_thread *t, struct load_conn *c)
{
	const struct load_target *target = c->target;
	ssize_t n = net_stream_write(&c->stream, target->greeting, target->greeting_size);

	if (n != (ssize_t)target->greeting_size)
		return n < 0 ? (int)n : -EAGAIN;
	t->count.bytes_sent += target->greeting_size;
	c->state = CONN_GREETING;
	c->greeted = 0;
	return 0;
}

/*
 * Stores the server's refusal: its error text, or else the first line of `text`, with control
 * characters replaced.
 */
static void note_refusal(struct load_thread *t, const struct reply *reply, const char *text,
			 size_t size)
{
	size_t n = 0;

	if (t->phase == PHASE_RUN || *t->greeting_refusal)
		return;
	if (reply->error_text) {
		error_text_clean(reply->error_text, t->greeting_refusal);
		return;
	}
	for (; n < size && n < sizeof(t->greeting_refusal) - 1 && text[n] != '\r'; n++)
		t->greeting_refusal[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
	t->greeting_refusal[n] = '\0';
}

static int dial_parse_greeting_replies(struct load_thread *t, struct load_conn *c, size_t n)
{
	const struct protocol *protocol = c->target->protocol;
	size_t at = 0, used;

	while (at < n) {
		struct reply reply = {};
		int ret;

		const bool all = c->greeted == c->target->greeting_replies;

		if (all && !protocol->pushes)
			return -EPROTO;
		used = 0;
		ret = protocol->parse(&c->parser, protocol->greeting_type, t->in + at, n - at,
				      &used, &reply);
		if (ret < 0 || (ret && reply.status != REPLY_OK)) {
			note_refusal(t, &reply, t->in + at, n - at);
			return ret < 0 ? -EPROTO : -EACCES;
		}
		if (all && ret)
			return -EPROTO;
		c->greeted += ret == 1;
		at += used;
	}
	return 0;
}

/* Sends the first output of a new session. */
static int dial_open_session(struct load_thread *t, struct load_conn *c)
{
	const struct protocol *protocol = c->target->protocol;

	c->parser.session = protocol->session->open(protocol, &c->target->workload);
	if (!c->parser.session)
		return -ENOMEM;
	c->state = CONN_GREETING;
	return conn_flush(t, c);
}

/* Parses what comes before the peer has confirmed the session's protocol. */
static int dial_parse_session(struct load_thread *t, struct load_conn *c, size_t n)
{
	struct reply reply = {};
	size_t used;
	int err = c->target->protocol->parse(&c->parser, 0, t->in, n, &used, &reply);

	if (err < 0)
		conn_session_garbled(c, t->in, n, used);
	if (err >= 0 && !c->parser.session->going_away)
		return 0;
	reply.error_text = &c->parser.error_text;
	note_refusal(t, &reply, "", 0);
	return -EPROTO;
}

/* Reads what the server says before the first request, and gives it to parse(). */
static int dial_read(struct load_thread *t, struct load_conn *c,
		     int (*parse)(struct load_thread *t, struct load_conn *c, size_t size))
{
	struct net_rx_stamp unused;
	bool drained = false;
	ssize_t n;
	int err = 0;

	while (!err && !drained) {
		n = net_stream_read(&c->stream, t->in, LOAD_IN_SIZE, &unused, &drained);
		if (n == -EAGAIN)
			break;
		if (n <= 0)
			return n ? (int)n : -ECONNRESET;
		t->count.bytes_received += (uint64_t)n;
		err = parse(t, c, (size_t)n);
	}
	return err;
}

static int dial_read_session(struct load_thread *t, struct load_conn *c)
{
	int err = dial_read(t, c, dial_parse_session);

	if (err || !c->parser.session->ready)
		return err;
	c->rx = c->reply_begin = c->stream.received;
	dial_opened(t, c);
	return conn_flush(t, c);
}

static int dial_read_greeting_replies(struct load_thread *t, struct load_conn *c)
{
	int err = dial_read(t, c, dial_parse_greeting_replies);

	if (err || c->greeted < c->target->greeting_replies)
		return err;
	c->rx = c->reply_begin = c->stream.received;
	dial_opened(t, c);
	return 0;
}

/* Sends the greeting, or completes the connection, once TCP or TLS is established. */
static int dial_ready(struct load_thread *t, struct load_conn *c)
{
	if (c->target->protocol->session)
		return dial_open_session(t, c);
	if (c->target->greeting_size)
		return dial_greet(t, c);
	dial_opened(t, c);
	return 0;
}

static int dial_handshake(struct load_thread *t, struct load_conn *c)
{
	int ret = net_stream_handshake(&c->stream);

	if (ret > 0) {
		t->tls.handshakes++;
		t->tls.resumed += net_tls_resumed(c->stream.tls);
		dial_times_note(&t->dial_times, DIAL_HANDSHAKE, clock_now() - c->began_ns);
	}
	return ret > 0 ? dial_ready(t, c) : ret;
}

/* Notes how long connect() took, which does nothing for datagrams. Begins the next step. */
static void dial_note_connected(struct load_thread *t, struct load_conn *c)
{
	const uint64_t now = clock_now();

	if (!c->stream.datagram)
		dial_times_note(&t->dial_times, DIAL_CONNECT, now - c->began_ns);
	c->began_ns = now;
}

static int dial_connected(struct load_thread *t, struct load_conn *c)
{
	int err = net_stream_connected(&c->stream);

	if (err)
		return err;
	dial_note_connected(t, c);
	/* An error is ignored: requests without kernel time stamps are counted one by one. */
	if (t->config->stamps != STAMPS_USER)
		net_stream_stamp(&c->stream, t->config->stamps == STAMPS_NIC);
	if (!c->stream.tls)
		return dial_ready(t, c);
	c->state = CONN_TLS;
	err = net_stream_handshake_begin(&c->stream);
	return err ? err : dial_handshake(t, c);
}

void dial_event(struct load_thread *t, struct load_conn *c, uint32_t events)
{
	int err = 0;

	if (c->state == CONN_CONNECTING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		err = dial_connected(t, c);
	else if (c->state == CONN_TLS)
		err = dial_handshake(t, c);
	else if (c->state == CONN_GREETING && events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
		err = c->target->protocol->session ? dial_read_session(t, c) :
						     dial_read_greeting_replies(t, c);
	if (!err && c->stream.stamps && events & EPOLLERR)
		err = conn_errors(t, c);
	/*
	 * Reads at once, since data that arrived together with the opening of the connection causes
	 * no further epoll event.
	 */
	if (!err && c->state == CONN_OPEN && events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
		err = conn_receive(t, c, events & (EPOLLRDHUP | EPOLLHUP));
	if (err && c->state == CONN_OPEN)
		dial_lost(t, c, err);
	else if (err)
		dial_fail(t, c, err);
}

static void dial_open(struct load_thread *t, struct load_conn *c)
{
	const struct load_target *target = c->target;
	const struct net_address *to;
	int err;

	list_remove(&c->timer);
	match_init(&c->match);
	memset(&c->parser, 0, sizeof(c->parser));
	c->requests = c->replies = c->rx = c->reply_begin = c->skip = 0;
	c->retiring = c->blocked = false;
	c->phc = t->n_nics ? &t->phcs[target->nics[c->address % target->n_addresses]] : NULL;
	c->state = CONN_CONNECTING;
	t->n_connecting++;
	c->timer_ns = t->now + t->config->timeout_ns;
	list_append(&t->connecting, &c->timer);
	if (target->protocol->no_network) {
		dial_opened(t, c);
		return;
	}
	to = &target->addresses[c->address % target->n_addresses];
	c->began_ns = clock_now();
	err = net_stream_open(&c->stream, to, sources_at(t->sources, to->addr.ss_family,
							 c->source));
	if (!err && t->config->role == ROLE_LATENCY)
		t->poll_error = net_stream_poll_enable(&c->stream);
	if (!err)
		err = net_wait_add(&t->wait, c->stream.fd,
				   (uint64_t)c->generation << 32 | c->index);
	if (err)
		dial_fail(t, c, err);
}

/* ---- timers ---- */

void dial_begin(struct load_thread *t)
{
	uint32_t i;

	for (i = 0; i < t->n_conns; i++)
		dial_retry(t, &t->conns[i]);
}

static void make_due(struct load_thread *t, struct link *list)
{
	struct load_conn *c;

	while (t->n_connecting < LOAD_DIAL_WINDOW &&
	       (c = list_first(list, struct load_conn, timer)) && c->timer_ns <= t->now)
		dial_open(t, c);
}

void dial_due(struct load_thread *t)
{
	struct load_conn *c;
	unsigned int i;

	while ((c = list_first(&t->connecting, struct load_conn, timer)) && c->timer_ns <= t->now)
		dial_fail(t, c, -ETIMEDOUT);
	for (i = 0; i < LOAD_BACKOFFS; i++)
		make_due(t, &t->retry[i]);
}

uint64_t dial_next(const struct load_thread *t)
{
	const struct load_conn *c = list_first(&t->connecting, struct load_conn, timer);
	uint64_t next = c ? c->timer_ns : UINT64_MAX;
	unsigned int i;

	if (t->n_connecting >= LOAD_DIAL_WINDOW)
		return next;
	for (i = 0; i < LOAD_BACKOFFS; i++) {
		c = list_first(&t->retry[i], struct load_conn, timer);
		if (c && c->timer_ns < next)
			next = c->timer_ns;
	}
	return next;
}
