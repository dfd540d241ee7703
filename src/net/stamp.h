/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's stamps of a socket's bytes (Documentation/networking/timestamping.rst): when a sent
 * byte entered the queueing discipline, reached the driver and was acknowledged, and when a
 * received byte arrived. Stamps of sent bytes come through the error queue and name their byte, or
 * datagram, by a number that counts from 0 since net_stamp_enable() and wraps at 2^32. Lost stamps
 * are not reported.
 *
 * Software stamps are realtime: the caller subtracts the distance to the monotonic clock, read
 * close by (clock/follow.h). A card's stamps are of its own clock (clock/phc.h).
 */
#ifndef HOSTLAT_NET_STAMP_H
#define HOSTLAT_NET_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum net_stamp_kind {
	NET_STAMP_SCHED, /* the packet entered the queueing discipline */
	NET_STAMP_SND,   /* the driver got the packet; missing if the NIC stamps the packet */
	NET_STAMP_ACK,   /* all bytes up to `id` were acknowledged: TCP only */
	NET_STAMP_NIC,   /* the packet left the NIC, by the NIC's clock; other kinds: realtime */
	NET_STAMP_KINDS,
};

struct net_tx_stamp {
	enum net_stamp_kind kind;
	uint32_t id;       /* offset of the last sent byte, or number of the datagram */
	uint64_t ns;       /* time of the stamp; 0: none */
};

struct net_rx_stamp {
	uint64_t real_ns;  /* realtime of the arrival; 0: none */
	uint64_t nic_ns;   /* arrival by the NIC's clock; 0: none */
};

/*
 * Turns stamps on; to be called when connected, before anything is sent. `nic`: the NIC's stamps,
 * too, which net/nic.h turns on. Returns 0 or -errno; -EOPNOTSUPP: the socket has none.
 */
int net_stamp_enable(int fd, bool nic);

#define NET_STAMP_BATCH 32

/*
 * Reads up to NET_STAMP_BATCH stamps. Returns their number (fewer: the queue is empty) or -errno.
 */
int net_stamp_drain(int fd, struct net_tx_stamp out[NET_STAMP_BATCH]);

/* Works like recv(), and returns the stamp of the last byte read. */
ssize_t net_stamp_recv(int fd, void *buffer, size_t size, struct net_rx_stamp *stamp);

#endif
