/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Sampling (--sample, --max-overhead): decides which packets are measured before a clock is read.
 *
 * A segment is drawn by a hash of its sequence number. Every stage of both ends sees the same
 * number, also behind NAT, so a segment is measured at all stages or at none. Datagrams may have
 * equal headers: `link` draws them by a count, and notes the result in the link table, which the
 * next stage reads anyway. docs/design/sampling.md.
 */
#ifndef HOSTLAT_BPF_SAMPLE_H
#define HOSTLAT_BPF_SAMPLE_H

#include <bpf/bpf_endian.h>

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/link.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/net.bpf.h"
#include "bpf/record.bpf.h"

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86DD
/* IPv4 header, network byte order: mask of "more fragments" and the fragment offset */
#define IP_FRAGMENT 0xff3fULL

/*
 * Reads two 64-bit words of a header; without bpf_rdonly_cast(), by a helper. The cast may name any
 * kernel type that consists of two words.
 */
static __always_inline void header_words(const void *at, __u64 *first, __u64 *second)
{
	if (can_cast) {
		const struct timespec64 *w =
			bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct timespec64));

		*first = w->tv_sec;
		*second = w->tv_nsec;
	} else {
		__u64 w[2] = {};

		bpf_probe_read_kernel(w, sizeof(w), at);
		*first = w[0];
		*second = w[1];
	}
}

static __always_inline __u64 header_word(const void *at)
{
	__u64 word = 0;

	if (can_cast)
		return ((const struct timespec64 *)
			bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct timespec64)))->tv_sec;
	bpf_probe_read_kernel(&word, sizeof(word), at);
	return word;
}

/*
 * Returns whether a key is sampled: equal keys alike, consecutive keys independently. Uses the
 * finalizer of MurmurHash3 (A. Appleby, public domain) with both constants.
 */
static __always_inline bool sample_draw(__u64 key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdULL;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ULL;
	return (__u32)(key >> 32) <= sample_below;
}

/* Returns whether a received segment is sampled, by its sequence number in network byte order. */
static __always_inline bool tcp_drawn(const struct sk_buff *skb)
{
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)skb->cb;

	return sample_draw(bpf_htonl(cb->seq));
}

/* Returns whether a transmitted TCP packet is sampled; meaningless for other packets. */
static __always_inline bool tx_drawn(const struct sk_buff *skb)
{
	return sample_draw(header_word(skb->head + skb->transport_header) >> 32);
}

enum draw { DRAW_MEASURED, DRAW_UNSAMPLED, DRAW_DATAGRAM };

/*
 * Returns whether a packet is sampled at its arrival (stage `link`); DRAW_DATAGRAM: the caller
 * decides, by a count. Packets with unusual headers are always measured there; TCP's next stage
 * decides again.
 */
static __always_inline enum draw link_draw(const struct sk_buff *skb)
{
	__u32 linear = skb->len - skb->data_len, protocol, offset;
	__u64 first, second;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		header_words(skb->data, &first, &second);
		if (first >> 48 & IP_FRAGMENT)
			return DRAW_MEASURED;
		offset = (first & 15) * 4;
		protocol = second >> 8 & 0xff;
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		protocol = header_word(skb->data) >> 48 & 0xff;
		offset = 40;
	} else {
		return DRAW_MEASURED;
	}
	if (linear < offset + 8)
		return DRAW_MEASURED;
	if (protocol == IPPROTO_UDP)
		return DRAW_DATAGRAM;
	if (protocol != IPPROTO_TCP || sample_draw(header_word(skb->data + offset) >> 32))
		return DRAW_MEASURED;
	return DRAW_UNSAMPLED;
}

/*
 * Stores an unsampled datagram in the link table, as the datagram occupies an entry of its socket's
 * FIFO. The kernel's receive stamp saves a clock reading: the time only orders datagrams.
 */
static __always_inline void link_pass_datagram(struct sk_buff *skb)
{
	struct link_entry *e = link_claim((__u64)skb);
	__u64 stamp = skb->tstamp;

	e->skb = 0;
	if (stamp && stamp_clock(skb) == STAMP_REALTIME) {
		e->p.s.seq = stamp;
		e->p.link = stamp - realtime_offset;
	} else {
		e->p.s.seq = 0;
		e->p.link = bpf_ktime_get_ns();
	}
	e->p.s.base = e->p.link;
	e->p.ip = e->p.transport = 0;
	e->p.s.flags = rx_iface_flag(e, skb) | PKT_SKIP;
	e->skb = (__u64)skb;
}

/* Returns true if the packet is measured at its arrival (stage `link`). */
static __always_inline bool link_drawn(struct cpu_state *c, struct sk_buff *skb)
{
	enum draw draw = link_draw(skb);

	if (draw == DRAW_DATAGRAM) {
		if (sample_draw(++c->datagrams << 32 | low_half(skb)))
			return true;
		link_pass_datagram(skb);
		return false;
	}
	return draw == DRAW_MEASURED;
}

#endif
