/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Definitions shared by hotpath.bpf.c and hotpath.c. */
#ifndef HOSTLAT_BENCH_HOTPATH_H
#define HOSTLAT_BENCH_HOTPATH_H

#define BENCH_LOOP 256 /* turns in a row */
#define BENCH_RUNS 400 /* runs of each chain */

enum chain {
	/* at tcp_probe, on a packet */
	CHAIN_EMPTY,
	CHAIN_LINK,
	CHAIN_TRANSPORT, /* link and socket */
	CHAIN_CONTROL_IP,
	CHAIN_CONTROL_TRANSPORT,
	CHAIN_CONTROL_ENQUEUED,
	CHAIN_PASSED_TRANSPORT, /* the programs of --sample, of a packet that isn't measured */
	CHAIN_PASSED_ENQUEUED,  /* socket and enqueued */
	CHAIN_PACKET_MAX,
	/* at tcp_rcv_space_adjust, on a socket */
	CHAIN_READ_EMPTY = CHAIN_PACKET_MAX,
	CHAIN_MADE,     /* a packet as tcp_probe leaves it */
	CHAIN_PUT,      /* and enqueued */
	CHAIN_COPIED,   /* and copied */
	CHAIN_RETURNED, /* and returned to the application */
	CHAIN_CONTROL_READ,
	CHAIN_PASSED_COPIED,
	CHAIN_PASSED_READ, /* copied and returned */
	CHAIN_READ_MAX,
	/* at netif_receive_skb, where the packet's headers still are in front */
	CHAIN_LINK_EMPTY = CHAIN_READ_MAX,
	CHAIN_PASSED_LINK,
	CHAINS,
};

/* Powers of two, for the verifier. */
#define CHAINS_SLOTS 32
#define BENCH_RUNS_SLOTS 512

#endif
