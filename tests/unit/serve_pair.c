/* SPDX-License-Identifier: Apache-2.0 */
#include "serve_pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"

void serve_pair_open(struct serve_pair *pair, enum serve_protocol_number protocol,
		     uint32_t reply_size)
{
	struct serve_shared *s = &pair->shared;
	struct net_stream stream = { 0 };
	int ends[2];

	memset(pair, 0, sizeof(*pair));
	s->protocol = &serve_protocols[protocol];
	s->at_once = protocol > SERVE_R2P2 || protocol == SERVE_ECHO;
	s->settings.reply_size = reply_size;
	snprintf(s->settings.page, sizeof(s->settings.page), "page %u\r\n\r\n", reply_size);
	rng_init(&s->rng, 1);
	list_init(&s->conns);
	pthread_mutex_init(&s->lock, NULL);
	BUG_ON(serve_queue_init(&s->queue, 1, &s->stall));
	pair->context = calloc(1, sizeof(*pair->context));
	pair->epoll = epoll_create1(EPOLL_CLOEXEC);
	BUG_ON(!pair->context || pair->epoll < 0);
	BUG_ON(serve_context_init(pair->context, s, pair->epoll, false, 1));
	BUG_ON(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
	pair->peer = ends[0];
	stream.fd = ends[1];
	BUG_ON(serve_conn_new(pair->context, &stream));
}

void serve_pair_close(struct serve_pair *pair)
{
	close(pair->peer);
	serve_conn_close_all(&pair->shared);
	serve_context_release(pair->context);
	free(pair->context);
	serve_queue_release(&pair->shared.queue);
	pthread_mutex_destroy(&pair->shared.lock);
	close(pair->epoll);
}

void serve_pair_turn(struct serve_pair *pair)
{
	struct epoll_event event;

	while (epoll_wait(pair->epoll, &event, 1, 0) == 1) {
		serve_conn_event(pair->context, event.data.ptr, event.events);
		serve_conn_sweep(pair->context);
		/* Once the peer is gone, too, that is told again and again. */
		if (!(event.events & (EPOLLIN | EPOLLOUT)))
			break;
	}
	serve_conn_due(pair->context);
	serve_conn_sweep(pair->context);
}

static size_t take(struct serve_pair *pair, char *replies, size_t cap)
{
	size_t got = 0;
	ssize_t n;

	while (!pair->ended && got < cap) {
		n = recv(pair->peer, replies + got, cap - got, 0);
		if (n < 0 && errno == EAGAIN)
			break;
		pair->ended = n <= 0;
		got += n > 0 ? (size_t)n : 0;
		serve_pair_turn(pair);
	}
	return got;
}

size_t serve_pair_talk(struct serve_pair *pair, const void *data, size_t size, size_t piece,
		       char *replies, size_t cap)
{
	const char *from = data;
	size_t got = 0;

	while (size && !pair->ended) {
		ssize_t n = send(pair->peer, from, size < piece ? size : piece, MSG_NOSIGNAL);

		if (n > 0) {
			from += n;
			size -= (size_t)n;
		}
		serve_pair_turn(pair);
		got += take(pair, replies + got, cap - got);
		/* Neither side goes on: nobody takes the replies. */
		if (n <= 0 && got == cap)
			break;
		if (n < 0 && errno != EAGAIN)
			break;
	}
	return got + take(pair, replies + got, cap - got);
}
