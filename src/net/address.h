/* SPDX-License-Identifier: Apache-2.0 */
/* Where a peer is: names, IPv4 and IPv6 addresses, Unix sockets. */
#ifndef HOSTLAT_NET_ADDRESS_H
#define HOSTLAT_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/strbuf.h"

struct net_address {
	struct sockaddr_storage addr;
	socklen_t len;
	int type; /* SOCK_STREAM or SOCK_DGRAM */
};

#define NET_ADDRESSES_MAX 16

/*
 * The addresses of a host's name or number and a service's, in the order of the resolver (RFC
 * 6724). Returns how many, at most NET_ADDRESSES_MAX, or -errno with a sentence in `why`. Blocks.
 */
int net_resolve(const char *host, const char *port, bool datagram,
		struct net_address out[NET_ADDRESSES_MAX], struct strbuf *why);

/* A stream socket in the file system; "@name" is an abstract one. -ENAMETOOLONG. */
int net_unix_address(const char *path, struct net_address *out);

/* "10.0.0.2:80", "[::1]:80" or the path. */
void net_address_text(const struct net_address *address, struct strbuf *out);

#endif
