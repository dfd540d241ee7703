/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a peer: TCP, UDP or Unix socket, plain or TLS, never blocking. Numbers of bytes
 * are those on the wire, so that they fit kernel stamps and the other side's view.
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
	int fd;              /* -1: closed */
	bool stamps;         /* the kernel's stamps are on */
	bool datagram;
	struct net_tls *tls; /* owned; NULL: plain */
	uint64_t sent, received; /* bytes on the wire; of datagrams `sent` counts them */
};

/* Begins to connect; writable when that has come to its end. Returns 0 or -errno. */
int net_stream_open(struct net_stream *stream, const struct net_address *address);

/* Once writable: 0, or -errno of the connect. Then stamps may be enabled. */
int net_stream_connected(struct net_stream *stream);

/*
 * Reading when there is nothing polls the queue of the network card once, if packets come by one
 * that can be polled: that is known from the first packet on. -EPERM: not permitted.
 */
int net_stream_poll_enable(const struct net_stream *stream);
bool net_stream_has_queue(const struct net_stream *stream);

/* Turns kernel stamps on, before the first byte. Returns 0 or -errno. */
int net_stream_stamp(struct net_stream *stream, bool nic);

/* After net_stream_connected() of a stream with TLS, each time it is ready; see tls.h. */
int net_stream_handshake_begin(struct net_stream *stream);
int net_stream_handshake(struct net_stream *stream);

/* Bytes taken, or -errno (-EAGAIN: when it is writable, repeat with the same bytes). */
ssize_t net_stream_write(struct net_stream *stream, const void *data, size_t size);

/*
 * Bytes read, 0 at the peer's end, or -errno. *drained: nothing more is there now; what comes
 * later makes an edge of its own. `stamp` is of the last byte.
 */
ssize_t net_stream_read(struct net_stream *stream, void *buffer, size_t size,
			struct net_rx_stamp *stamp, bool *drained);

/* Closes the socket; keeps `tls` for the next one. */
void net_stream_close(struct net_stream *stream);

#endif
