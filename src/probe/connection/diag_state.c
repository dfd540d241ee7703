/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/diag_state.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

/*
 * With this many unsent bytes or more, a full send buffer does not limit the connection; the same
 * as in bpf/conn_poll.bpf.h.
 */
#define UNSENT_MAX 65536

bool diag_has_bytes(const struct diag_sock *s)
{
	return diag_has(s->info_size, bytes_retrans) && s->state != TCP_LISTEN;
}

uint32_t diag_known(uint32_t size, bool memory)
{
	uint32_t known = 0;

	if (diag_has(size, sndbuf_limited))
		known |= CONN_KNOWS_CHRONO;
	if (diag_has(size, dsack_dups))
		known |= CONN_KNOWS_SPURIOUS;
	if (diag_has(size, snd_wnd) && memory)
		known |= CONN_KNOWS_TIMES | CONN_KNOWS_GAUGES;
	if (diag_has(size, rcv_wnd))
		known |= CONN_KNOWS_RCV_WND;
	if (diag_has(size, total_rto))
		known |= CONN_KNOWS_RTO;
	return known;
}

/* Returns the bytes sent and not yet acknowledged. */
static uint32_t diag_flight_bytes(const struct diag_sock *s)
{
	return s->wqueue > s->info.notsent_bytes ? s->wqueue - s->info.notsent_bytes : 0;
}

static uint32_t diag_flight_segments(const struct diag_info *i)
{
	const uint64_t out = (uint64_t)i->unacked + i->retrans;
	const uint64_t less = (uint64_t)i->sacked + i->lost, left = out > less ? out - less : 0;

	return left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}

static bool diag_window_is_shut(const struct diag_sock *s)
{
	const struct diag_info *i = &s->info;
	const uint32_t next = i->notsent_bytes < i->snd_mss ? i->notsent_bytes : i->snd_mss;

	return !i->snd_wnd || (uint64_t)diag_flight_bytes(s) + next > i->snd_wnd;
}

/* Returns true if a full send buffer may be the limit: little is unsent, and cwnd has room. */
static bool diag_may_lack_buffer(const struct diag_sock *s)
{
	return s->wmem_queued >= s->sndbuf - s->sndbuf / 3 && s->info.notsent_bytes < UNSENT_MAX &&
	       diag_flight_segments(&s->info) < s->info.snd_cwnd;
}

/*
 * inet_diag does not report whether cwnd has limited the connection, whether the socket paces, and
 * whether Nagle's algorithm is on: then several states are possible (CONN_AT_MAX).
 */
enum conn_sample_state diag_sampled_state(const struct diag_sock *s)
{
	const struct diag_info *i = &s->info;
	const uint32_t unsent = i->notsent_bytes;

	if (!unsent && !i->unacked)
		return CONN_AT_IDLE;
	if (i->ca_state == TCP_CA_Recovery || i->ca_state == TCP_CA_Loss || i->retrans)
		return CONN_AT_RECOVERY;
	if (!(diag_known(s->info_size, s->has & DIAG_MEMORY) & CONN_KNOWS_TIMES))
		return CONN_AT_MAX;
	if (unsent && diag_window_is_shut(s))
		return CONN_AT_WINDOW;
	if (diag_may_lack_buffer(s))
		return unsent < i->snd_mss ? CONN_AT_SEND_BUFFER : CONN_AT_MAX;
	if (!unsent)
		return CONN_AT_FLIGHT;
	if (diag_flight_segments(i) >= i->snd_cwnd || unsent >= i->snd_mss)
		return CONN_AT_CWND;
	return CONN_AT_MAX;
}

bool diag_is_shut(const struct diag_sock *s)
{
	return diag_has(s->info_size, snd_wnd) && !s->info.snd_wnd;
}

bool diag_is_unread(const struct diag_sock *s)
{
	return s->has & DIAG_MEMORY && s->rqueue && s->rmem >= s->rcvbuf - s->rcvbuf / 4;
}

static void diag_put_addresses(const struct diag_sock *s, struct conn_now *n)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	n->family = s->family;
	n->local_port = s->local_port;
	n->remote_port = s->remote_port;
	memcpy(n->local, s->local, sizeof(n->local));
	memcpy(n->remote, s->remote, sizeof(n->remote));
	if (s->family != AF_INET6 || memcmp(s->remote, mapped, sizeof(mapped)) != 0)
		return;
	n->family = AF_INET;
	n->flags |= CONN_MAPPED;
	memset(n->local, 0, sizeof(n->local));
	memset(n->remote, 0, sizeof(n->remote));
	memcpy(n->local, s->local + sizeof(mapped), 4);
	memcpy(n->remote, s->remote + sizeof(mapped), 4);
}

static void diag_put_chrono(const struct diag_info *i, struct conn_now *n)
{
	const uint64_t limited = i->rwnd_limited + i->sndbuf_limited;

	/* cut to 32 bits, the counters wrap as the kernel's do */
	n->chrono[0] = (uint32_t)(i->busy_time > limited ? i->busy_time - limited : 0);
	n->chrono[1] = (uint32_t)i->rwnd_limited;
	n->chrono[2] = (uint32_t)i->sndbuf_limited;
}

void diag_now(const struct diag_sock *s, struct conn_now *n)
{
	const struct diag_info *i = &s->info;

	*n = (struct conn_now){
		.flags = (s->has & DIAG_KTLS ? CONN_KTLS : 0) |
			 (s->has & DIAG_MPTCP ? CONN_MPTCP : 0) |
			 (s->state == TCP_CLOSE_WAIT ? CONN_PASSIVE_CLOSED : 0) |
			 CONN_FROM_DIAG,
		.bytes_sent = i->bytes_sent, .bytes_acked = i->bytes_acked,
		.bytes_received = i->bytes_received, .bytes_retrans = i->bytes_retrans,
		/* unknown: inet_diag also reports a rate for sockets that do not pace */
		.pacing_rate = ~0ULL,
		.delivery_rate = i->delivery_rate,
		.srtt_us = i->rtt, .rto = i->rto, .cwnd = i->snd_cwnd,
		/* the kernel reports ~0 if there is no RTT yet */
		.min_rtt_us = i->min_rtt != UINT32_MAX ? i->min_rtt : 0,
		.ssthresh = i->snd_ssthresh, .mss = i->snd_mss,
		.snd_wnd = i->snd_wnd, .rcv_wnd = i->rcv_wnd,
		.sndbuf = s->sndbuf, .rcvbuf = s->rcvbuf, .wmem_queued = s->wmem_queued,
		.rmem = s->rmem,
		.unsent = i->notsent_bytes, .unacked = diag_flight_bytes(s), .rcv_queue = s->rqueue,
		.dsack_dups = i->dsack_dups, .total_rto = i->total_rto, .state = s->state,
		.known = diag_known(s->info_size, s->has & DIAG_MEMORY),
		/* the kernel reports ms since the last data of each direction */
		.last_data = conn_last_data(i->bytes_sent, i->bytes_received,
					    (int32_t)(i->last_data_recv - i->last_data_sent)),
	};
	diag_put_addresses(s, n);
	diag_put_chrono(i, n);
	memcpy(n->cc, s->cc, sizeof(n->cc));
}
