/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as inet_diag's answers, datagram by datagram, each with a length of two bytes before
 * it; and whatever sockets these make, as dumps of a namespace: what is told of them is sound. The
 * first byte: how many datagrams make a dump, and what a sample stands for.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "event/dict.h"
#include "event/memsource.h"
#include "probe/connection/diag_conns.h"
#include "probe/connection/diag_state.h"

#define SEQ 7 /* as tests/unit/diag_answer.h */
#define MS  1000000ULL
#define QUEUE (1 << 24)

struct run {
	struct conn_delta told;
	struct diag_conns kept;
	struct diag_ns ns;
	struct event_memsource *queue;
	uint32_t sample_us;
	uint64_t now, last;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *ctx, const struct diag_sock *sock)
{
	struct run *r = ctx;
	struct conn_now now;

	BUG_ON(sock->family != AF_INET && sock->family != AF_INET6);
	BUG_ON(!sock->cookie || sock->info_size > sizeof(sock->info));
	BUG_ON(!memchr(sock->cc, '\0', sizeof(sock->cc)));
	BUG_ON(diag_sampled_state(sock) > CONN_AT_MAX);
	diag_now(sock, &now);
	BUG_ON(!(now.flags & CONN_FROM_DIAG));
	diag_conns_update(&r->kept, &r->ns, sock, r->sample_us);
	return 0;
}

/* Checks the invariants of an event that analyses rely on: conns/conn_accumulate.c. */
static void check(struct run *r, const struct event_conn *e)
{
	const uint64_t sum = e->sender_app_ns + e->send_buffer_ns + e->congestion_ns +
			     e->receiver_window_ns + e->delayed_ack_ns + e->unknown_ns;
	uint64_t samples = 0;

	BUG_ON(e->from > e->to || e->to < r->last);
	BUG_ON(e->known & CONN_KNOWS_TIMES && sum != e->to - e->from);
	for (int i = 0; i < CONN_STATES; i++)
		samples += e->sampled[i];
	BUG_ON(samples > e->samples || e->zero_windows > e->samples || e->unread > e->samples);
	BUG_ON(e->delayed_ack_ns || e->known & (CONN_KNOWS_CALLS | CONN_KNOWS_LOSSES |
						CONN_KNOWS_DELACKS | CONN_KNOWS_PEER_DELACKS));
	r->last = e->to;
}

static void collect(struct run *r)
{
	struct event_source *names = event_memsource_source(r->queue);
	struct event_block block;
	struct event_conn e;

	r->last = 0;
	while (conn_delta_block(&r->told, &block))
		for (uint32_t i = 0; i < block.count; i++) {
			event_block_copy(&block, i, &e, sizeof(e));
			check(r, &e);
		}
	while (event_source_next(names, &block) > 0)
		;
	BUG_ON(r->told.err);
}

static void datagram(struct run *r, const uint8_t *data, size_t size)
{
	unsigned char *copy = malloc(size + !size); /* so that reading beyond it is seen */

	BUG_ON(!copy);
	memcpy(copy, data, size);
	r->ns.time = r->now += MS;
	if (diag_read(copy, size, SEQ, take, r) == 1)
		r->ns.complete = true;
	free(copy);
}

static void dump(struct run *r, const uint8_t **data, size_t *size, unsigned int datagrams)
{
	diag_ns_begin(&r->ns, r->now += MS);
	for (unsigned int i = 0; i < datagrams && *size >= 2; i++) {
		size_t len = (*data)[0] | (size_t)(*data)[1] << 8;

		*data += 2;
		*size -= 2;
		if (len > *size)
			len = *size;
		datagram(r, *data, len);
		*data += len;
		*size -= len;
	}
	diag_conns_settle(&r->kept);
	BUG_ON(diag_conns_report(&r->kept) > r->kept.table.n);
	BUG_ON(diag_conns_report(&r->kept)); /* all is told */
	collect(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t first = size ? data[0] : 0;
	struct run r = { .ns.inode = 1, .now = 1000 * MS, .sample_us = (first >> 2) * 100U };

	data += size > 0;
	size -= size > 0;
	BUG_ON(conn_delta_init(&r.told) || event_memsource_new(&r.queue, QUEUE));
	r.told.sink = event_memsource_sink(r.queue);
	r.told.dict = event_dict_new();
	r.told.tick_ns = 1000;
	BUG_ON(!r.told.dict);
	diag_conns_init(&r.kept, &r.told);
	while (size >= 2)
		dump(&r, &data, &size, 1 + (first & 3));
	r.ns.gone = true;
	diag_conns_settle(&r.kept);
	BUG_ON(r.kept.table.n);
	collect(&r);
	event_dict_free(r.told.dict);
	event_memsource_free(r.queue);
	diag_conns_release(&r.kept);
	conn_delta_release(&r.told);
	return 0;
}
