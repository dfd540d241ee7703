/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that servers listen on. */
#ifndef HOSTLAT_NET_LISTEN_H
#define HOSTLAT_NET_LISTEN_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "net/address.h"

#define NET_LISTEN_TAKES \
	"an address and a port (127.0.0.1:9000, [::1]:9000; port 0: any free port), " \
	"udp:127.0.0.1:9000, or unix:PATH"

/* Parses an address given by numbers, without names. Returns 0 or -EINVAL. */
int net_listen_parse(const char *text, struct net_address *out);

/*
 * Opens a socket that never blocks; a stream socket listens. `address` gets the port in use. A Unix
 * socket without a listener is replaced. Returns the descriptor or -errno.
 */
int net_listen(struct net_address *address);

/* Closes the socket and removes a Unix socket's file. */
void net_listen_close(int fd, const struct net_address *address);

/* Returns the next peer's socket, ready for use, or -errno; -EAGAIN: no peer waits. */
int net_accept(int fd);

/* Writes the address in the form that net_listen_parse() reads. */
void net_listen_text(const struct net_address *address, struct strbuf *out);

#endif
