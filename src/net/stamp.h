/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own stamps of a socket's bytes (Documentation/networking/timestamping.rst): when a
 * byte that was sent entered the queueing discipline, was handed to the driver and was
 * acknowledged, and when a byte that was read had been received. Stamps of sent bytes come through
 * the error queue and name their byte, or datagram, by a number that counts from 0 since
 * net_stamp_enable() and wraps at 2^32. One that was lost is never told of.
 *
 * Software stamps are of the realtime clock: the caller subtracts its distance to the monotonic
 * one, read close by (clock/follow.h). A card's are of its own clock (clock/phc.h).
 */
#ifndef HOSTLAT_NET_STAMP_H
#define HOSTLAT_NET_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum net_stamp_kind {
	NET_STAMP_SCHED, /* the packet entered the queueing discipline */
	NET_STAMP_SND,   /* it was handed to the driver: not of a packet that the NIC stamps */
	NET_STAMP_ACK,   /* all bytes up to that one were acknowledged: TCP only */
	NET_STAMP_NIC,   /* it left the NIC, by the NIC's clock; the others are of realtime */
	NET_STAMP_KINDS,
};

struct net_tx_stamp {
	enum net_stamp_kind kind;
	uint32_t id;       /* offset of the last sent byte, or number of the datagram */
	uint64_t ns;       /* 0: none */
};

struct net_rx_stamp {
	uint64_t real_ns;  /* 0: none */
	uint64_t nic_ns;   /* by the NIC's clock; 0: none */
};

/*
 * To be called when the connection is made and nothing has been sent yet. `nic`: the NIC's stamps
 * too, which net/nic.h turns on. Returns 0 or -errno; -EOPNOTSUPP of a socket that has none.
 */
int net_stamp_enable(int fd, bool nic);

#define NET_STAMP_BATCH 32

/*
 * Reads up to NET_STAMP_BATCH stamps. Returns how many, fewer at the end of the queue, or -errno.
 */
int net_stamp_drain(int fd, struct net_tx_stamp out[NET_STAMP_BATCH]);

/* recv() with the stamp of the last byte that was read. */
ssize_t net_stamp_recv(int fd, void *buffer, size_t size, struct net_rx_stamp *stamp);

#endif
