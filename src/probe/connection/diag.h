/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the kernel's inet_diag about TCP sockets (netlink), and parsing of its answers, which
 * are not trusted. Pure functions.
 *
 * hostlat uses the older of the two requests (TCPDIAG_GETSOCK): it returns IPv4 and IPv6 sockets in
 * one walk over the kernel's hash table. The other request takes a walk for each, and a walk takes
 * 2 ms with 262,144 buckets.
 */
#ifndef HOSTLAT_PROBE_DIAG_H
#define HOSTLAT_PROBE_DIAG_H

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/*
 * TCP_INFO as in include/uapi/linux/tcp.h of 6.7; the kernel filled in the first `info_size` bytes.
 */
struct diag_info {
	uint8_t state, ca_state, retransmits, probes, backoff, options, wscale, bits;
	uint32_t rto, ato, snd_mss, rcv_mss;
	uint32_t unacked, sacked, lost, retrans, fackets; /* segments */
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
	uint32_t rcv_rtt, rcv_space, total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in;
	uint32_t notsent_bytes, min_rtt, data_segs_in, data_segs_out;
	uint64_t delivery_rate;
	uint64_t busy_time, rwnd_limited, sndbuf_limited; /* microseconds */
	uint32_t delivered, delivered_ce;
	uint64_t bytes_sent, bytes_retrans;  /* since 4.19 */
	uint32_t dsack_dups, reord_seen;     /* since 5.0 */
	uint32_t rcv_ooopack, snd_wnd;       /* since 5.4 */
	uint32_t rcv_wnd, rehash;            /* since 6.2 */
	uint16_t total_rto, total_rto_recoveries; /* since 6.7 */
	uint32_t total_rto_time;
};

_Static_assert(offsetof(struct diag_info, pacing_rate) == 104 &&
	       offsetof(struct diag_info, busy_time) == 168 &&
	       offsetof(struct diag_info, snd_wnd) == 228 && sizeof(struct diag_info) == 248,
	       "as the kernel has it");

/* True if the kernel's TCP_INFO of `size` bytes includes this member. */
#define diag_has(size, member)                                                                     \
	((size) >= offsetof(struct diag_info, member) +                                            \
			   sizeof(((const struct diag_info *)NULL)->member))

enum {
	DIAG_MEMORY = 1,        /* rmem, rcvbuf, sndbuf and wmem_queued are known */
	DIAG_KTLS = 2,
	DIAG_MPTCP = 4,
};

struct diag_sock {
	uint64_t cookie;
	uint32_t inode;         /* inode of the socket's file; 0: no descriptor refers to it */
	uint8_t family, state;  /* AF_INET or AF_INET6; TCP state */
	uint16_t local_port, remote_port; /* host order */
	uint8_t local[16], remote[16];    /* IPv4 lies in the first four bytes */
	uint32_t rqueue, wqueue;/* bytes in the receive queue and in the write queue */
	uint32_t has;           /* DIAG_* */
	uint32_t rmem, rcvbuf, sndbuf, wmem_queued;
	uint32_t info_size;     /* bytes of `info` that the kernel filled in; 0: none */
	struct diag_info info;  /* zero after the first info_size bytes */
	char cc[EVENT_COMM_LEN];/* congestion control; "" if unknown */
};

struct diag_request {
	struct nlmsghdr head;
	struct inet_diag_req body;
};

/* Fills in a request for all TCP sockets, except sockets in TIME_WAIT and similar states. */
void diag_ask(struct diag_request *request, uint32_t seq);

/*
 * Calls `take` for each socket of a datagram that answers request `seq`, and ignores other
 * datagrams. Returns 0: more will come; 1: the dump is complete; or a negative error: the kernel's,
 * -EPROTO for a malformed answer, or that of `take`, which ends the parsing.
 */
int diag_read(const void *data, size_t size, uint32_t seq,
	      int (*take)(void *ctx, const struct diag_sock *sock), void *ctx);

#endif
