/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a peer: TCP, UDP or Unix socket, plain or TLS, never blocking. Numbers of bytes
 * are those on the wire, as in kernel stamps and as the peer counts.
 */
#ifndef HOSTLAT_NET_STREAM_H
#define HOSTLAT_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/address.h"
#include "net/stamp.h"
#include "net/tls.h"

struct net_stream {
	int fd;              /* socket; -1: closed */
	bool stamps;         /* the kernel's stamps are on */
	bool datagram;
	struct net_tls *tls; /* owned; NULL: no TLS */
	uint64_t sent, received; /* bytes on the wire; of UDP, `sent` counts datagrams */
};

/*
 * Begins to connect; the socket is writable when that has ended. `from`: this host's address to
 * connect from, of the same family; NULL: the kernel's choice. Returns 0 or -errno; -EADDRNOTAVAIL:
 * no local port is left.
 */
int net_stream_open(struct net_stream *stream, const struct net_address *address,
		    const struct net_address *from);

/* Returns 0 or connect()'s -errno, once the socket is writable. Then stamps may be enabled. */
int net_stream_connected(struct net_stream *stream);

/*
 * Turns busy polling on (SO_BUSY_POLL): a read without data polls the network card's receive queue
 * once. Returns 0 or -errno; -EPERM: not permitted. net_stream_has_queue() returns whether the
 * queue can be polled, which is known from the first received packet on.
 */
int net_stream_poll_enable(const struct net_stream *stream);
bool net_stream_has_queue(const struct net_stream *stream);

/* Turns kernel stamps on, before the first byte. Returns 0 or -errno. */
int net_stream_stamp(struct net_stream *stream, bool nic);

/* Begin TLS once connected; continue whenever the socket is ready. Returned values: see tls.h. */
int net_stream_handshake_begin(struct net_stream *stream);
int net_stream_handshake(struct net_stream *stream);

/* Returns the bytes taken, or -errno. -EAGAIN: once writable, repeat with the same bytes. */
ssize_t net_stream_write(struct net_stream *stream, const void *data, size_t size);

/*
 * Returns the bytes read, 0 at the peer's end, or -errno. *drained: no more data are there now;
 * later data cause a new event (edge-triggered epoll). `stamp` is that of the last byte.
 */
ssize_t net_stream_read(struct net_stream *stream, void *buffer, size_t size,
			struct net_rx_stamp *stamp, bool *drained);

/* Closes the socket; keeps `tls` for the next connection. */
void net_stream_close(struct net_stream *stream);

#endif
