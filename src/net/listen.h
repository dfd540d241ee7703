/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that wait for peers. */
#ifndef HOSTLAT_NET_LISTEN_H
#define HOSTLAT_NET_LISTEN_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "net/address.h"

#define NET_LISTEN_TAKES \
	"an address and a port (127.0.0.1:9000, [::1]:9000; port 0: any that is free), " \
	"udp:127.0.0.1:9000, or unix:PATH"

/* Numbers only, no names. Returns 0 or -EINVAL. */
int net_listen_parse(const char *text, struct net_address *out);

/*
 * A socket that never blocks; of streams, listening. `address` gets the port that was found. A
 * Unix socket that nobody listens to any more is replaced. Returns the descriptor or -errno.
 */
int net_listen(struct net_address *address);

/* Closes it and removes a Unix socket's file. */
void net_listen_close(int fd, const struct net_address *address);

/* Returns the next peer of a stream socket, ready for use; -EAGAIN: none waits. */
int net_accept(int fd);

/* As net_listen_parse() takes it. */
void net_listen_text(const struct net_address *address, struct strbuf *out);

#endif
