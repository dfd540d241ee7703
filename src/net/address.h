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

/* How a name is waited for. */
struct net_resolving {
	int stop_fd;                    /* readable: give up, -EINTR; -1: nothing ends it */
	void (*slow)(const char *name); /* called once if it takes longer than a second */
};

/*
 * The same, but no longer than NET_RESOLVE_NS (-ETIMEDOUT) and until `how` ends it. The resolver
 * can't be interrupted: what it was asked is then left to a thread that ends by itself.
 */
int net_resolve_while(const struct net_resolving *how, const char *host, const char *port,
		      bool datagram, struct net_address out[NET_ADDRESSES_MAX],
		      struct strbuf *why);

#define NET_RESOLVE_NS 10000000000ULL

/* A stream socket in the file system; "@name" is an abstract one. -ENAMETOOLONG. */
int net_unix_address(const char *path, struct net_address *out);

/* "10.0.0.2:80", "[::1]:80" or the path. */
void net_address_text(const struct net_address *address, struct strbuf *out);

#endif
