/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends replies, in order or as they become due, batched into one write. Buffers them while the
 * peer is slow.
 */
#include "load/serve_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "clock/clock.h"
#include "load/wire.h"

/* ---- Waiting requests ---- */

struct serve_waiting *serve_wait(struct serve_context *x, struct serve_conn *c,
				 const struct serve_request *r)
{
	struct serve_waiting *w = x->spare;

	if (w)
		x->spare = w->spare;
	else
		w = malloc(sizeof(*w));
	if (!w)
		return NULL;
	w->conn = c;
	w->due = false;
	memcpy(&w->request, r, offsetof(struct serve_request, key) + r->key_len);
	list_append(&c->waiting, &w->link);
	return w;
}

void serve_waiting_free(struct serve_context *x, struct serve_waiting *w)
{
	w->spare = x->spare;
	x->spare = w;
}

/*
 * Drops the requests of a closed connection. Requests that are not due remain in the agenda, the
 * queue of future replies, and serve_conn_due() frees them later.
 */
static void drop_waiting(struct serve_context *x, struct serve_conn *c)
{
	struct link *lists[] = { &c->waiting, &c->ready };
	struct serve_waiting *w;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		while ((w = list_first(lists[i], struct serve_waiting, link)) != NULL) {
			list_remove(&w->link);
			w->conn = NULL;
			x->counts.unsent++;
			if (w->due)
				serve_waiting_free(x, w);
		}
	}
}

/* ---- The end of a connection ---- */

void serve_close(struct serve_context *x, struct serve_conn *c, uint64_t *count)
{
	if (c->gone)
		return;
	c->gone = true;
	++*count;
	drop_waiting(x, c);
	/*
	 * Remove from the list before closing: serve_conn_end_idle() uses the descriptors of the
	 * list.
	 */
	pthread_mutex_lock(&x->shared->lock);
	list_remove(&c->all);
	x->shared->n_conns -= !c->stream.datagram;
	pthread_mutex_unlock(&x->shared->lock);
	net_stream_close(&c->stream);
	list_append(&x->closed, &c->closed);
}

void serve_conn_free(struct serve_conn *c)
{
	struct link *lists[] = { &c->waiting, &c->ready };
	struct serve_waiting *w;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		while ((w = list_first(lists[i], struct serve_waiting, link)) != NULL) {
			list_remove(&w->link);
			if (w->due)
				free(w);
		}
	}
	net_tls_free(c->stream.tls);
	free(c->stash);
	free(c->unsent);
	free(c);
}

/* ---- Replies ---- */

/* Writes the same departure time into all replies of one write. */
static void serve_reply_stamp(struct serve_context *x)
{
	uint64_t now = x->n_stamps ? clock_now() : 0;

	for (uint32_t i = 0; i < x->n_stamps; i++)
		wire_put64(x->out + x->stamp_at[i], now);
	x->n_stamps = 0;
}

static int keep_unsent(struct serve_context *x, struct serve_conn *c, size_t from)
{
	c->unsent_len = x->out_len - from;
	c->unsent_at = 0;
	c->unsent = malloc(c->unsent_len);
	if (!c->unsent)
		return -ENOMEM;
	memcpy(c->unsent, x->out + from, c->unsent_len);
	return 0;
}

void serve_flush(struct serve_context *x, struct serve_conn *c)
{
	ssize_t n = 0;

	if (x->out_len && !c->gone) {
		serve_reply_stamp(x);
		n = net_stream_write(&c->stream, x->out, x->out_len);
		if (n == -EAGAIN)
			n = 0;
		if (n < 0 || ((size_t)n < x->out_len && keep_unsent(x, c, (size_t)n)))
			serve_close(x, c, &x->counts.reset);
		else
			x->counts.sent += (size_t)n;
	}
	x->out_len = x->n_stamps = 0;
}

/* Writes payload and tail of the current reply, as much as the peer accepts. */
static void serve_reply_write_payload(struct serve_context *x, struct serve_conn *c)
{
	while ((c->fill || c->tail) && !c->gone && !serve_blocked(c)) {
		size_t room = SERVE_BUFFER - x->out_len, n;

		if (room < SERVE_TAIL_MAX) {
			serve_flush(x, c);
		} else if (c->fill) {
			n = c->fill < room ? (size_t)c->fill : room;
			memset(x->out + x->out_len, 'x', n);
			x->out_len += n;
			c->fill -= n;
		} else {
			n = strlen(c->tail);
			memcpy(x->out + x->out_len, c->tail, n);
			x->out_len += n;
			c->tail = NULL;
		}
	}
}

static void write_head(struct serve_context *x, const struct serve_request *r,
		       struct serve_reply *reply)
{
	char *to = x->out + x->out_len;

	*reply = (struct serve_reply){ 0 };
	if (r->silent)
		return;
	if (r->text) {
		reply->head = strlen(r->text);
		memcpy(to, r->text, reply->head);
		return;
	}
	x->shared->protocol->write(&x->shared->settings, r, to, reply);
	if (reply->stamp)
		x->stamp_at[x->n_stamps++] = (uint32_t)(x->out_len + reply->stamp);
}

/*
 * Returns whether a reply may be larger than its request. Source addresses are easily forged, so
 * larger replies would amplify an attack. Packets from outside cannot have a loopback address.
 */
static bool may_amplify(const struct serve_context *x, const struct sockaddr_in6 *peer)
{
	const struct sockaddr_in *v4 = (const void *)peer;
	const uint8_t *v6 = peer->sin6_addr.s6_addr;

	if (x->shared->amplify)
		return true;
	if (peer->sin6_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&peer->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&peer->sin6_addr) && v6[12] == IN_LOOPBACKNET);
}

static void send_datagram(struct serve_context *x, struct serve_conn *c,
			  const struct serve_request *r)
{
	struct serve_reply reply;
	size_t size;

	x->out_len = 0;
	write_head(x, r, &reply);
	size = reply.head + (size_t)reply.fill;
	if (!size)
		return;
	BUG_ON(size > SERVE_DATAGRAM_MAX);
	if (size > r->asked && !may_amplify(x, &r->peer)) {
		x->counts.amplifying++;
		x->n_stamps = 0;
		return;
	}
	memset(x->out + reply.head, 'x', (size_t)reply.fill);
	serve_reply_stamp(x);
	if (sendto(c->stream.fd, x->out, size, MSG_DONTWAIT, (const struct sockaddr *)&r->peer,
		   r->peer.sin6_family == AF_INET ? sizeof(struct sockaddr_in) :
						    sizeof(r->peer)) < 0) {
		x->counts.unsent++;
		return;
	}
	x->counts.replies++;
	x->counts.sent += size;
}

/* Returns whether the peer accepts more bytes at the moment. Makes space in the buffer first. */
bool serve_may_send(struct serve_context *x, struct serve_conn *c)
{
	if (!c->stream.datagram && x->out_len > SERVE_BUFFER - SERVE_HEAD_MAX)
		serve_flush(x, c);
	return !c->gone && !serve_blocked(c);
}

/* Requests that are answered at once have no time of arrival, which would cost a clock read. */
static void serve_reply_record(struct serve_context *x, const struct serve_request *r)
{
	if (r->in_ns && !r->silent && !x->shared->spin)
		hist_record(&x->latency, clock_now() - r->in_ns);
}

void serve_send(struct serve_context *x, struct serve_conn *c,
		       const struct serve_request *r)
{
	struct serve_reply reply;

	serve_reply_record(x, r);
	if (c->stream.datagram) {
		send_datagram(x, c, r);
		return;
	}
	write_head(x, r, &reply);
	x->out_len += reply.head;
	c->fill = reply.fill;
	c->tail = reply.tail;
	x->counts.replies += !r->silent;
	serve_reply_write_payload(x, c);
	if (x->shared->spin)
		serve_flush(x, c);
}

void serve_send_ready(struct serve_context *x, struct serve_conn *c)
{
	struct serve_waiting *w;

	while ((w = list_first(&c->ready, struct serve_waiting, link)) != NULL &&
	       serve_may_send(x, c)) {
		list_remove(&w->link);
		serve_send(x, c, &w->request);
		serve_waiting_free(x, w);
	}
}

/* In protocols without request ids, a due reply waits for all earlier replies. */
void serve_make_ready(struct serve_context *x, struct serve_conn *c, struct serve_waiting *w)
{
	w->due = true;
	if (!x->shared->protocol->by_id)
		w = list_first(&c->waiting, struct serve_waiting, link);
	while (w && w->due) {
		list_remove(&w->link);
		list_append(&c->ready, &w->link);
		if (x->shared->protocol->by_id)
			return;
		w = list_first(&c->waiting, struct serve_waiting, link);
	}
}

void serve_send_unsent(struct serve_context *x, struct serve_conn *c)
{
	ssize_t n = net_stream_write(&c->stream, c->unsent + c->unsent_at, c->unsent_len);

	if (n == -EAGAIN)
		return;
	if (n < 0) {
		serve_close(x, c, &x->counts.reset);
		return;
	}
	x->counts.sent += (size_t)n;
	c->unsent_at += (size_t)n;
	c->unsent_len -= (size_t)n;
	if (c->unsent_len)
		return;
	free(c->unsent);
	c->unsent = NULL;
	serve_reply_write_payload(x, c);
	serve_send_ready(x, c);
}
