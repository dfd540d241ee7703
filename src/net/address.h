/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of peers: names, IPv4 and IPv6 addresses, Unix sockets. */
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
 * Resolves a host and a service, by name or number, in the resolver's order (RFC 6724). Returns how
 * many addresses, at most NET_ADDRESSES_MAX, or -errno with a sentence in `why`. Blocks.
 */
int net_resolve(const char *host, const char *port, bool datagram,
		struct net_address out[NET_ADDRESSES_MAX], struct strbuf *why);

/* A descriptor that ends the wait for a name server, and a callback for slow answers. */
struct net_resolving {
	int stop_fd;                    /* ends the wait (-EINTR) when readable; -1: none */
	void (*slow)(const char *name); /* called once, if the answer takes over 1 s */
};

/*
 * Like net_resolve(), for at most NET_RESOLVE_NS (-ETIMEDOUT) or until `how` ends the wait. The
 * resolver can't be interrupted: it continues in a thread that ends by itself.
 */
int net_resolve_while(const struct net_resolving *how, const char *host, const char *port,
		      bool datagram, struct net_address out[NET_ADDRESSES_MAX],
		      struct strbuf *why);

#define NET_RESOLVE_NS 10000000000ULL

/* Makes the address of a Unix stream socket; "@name" is abstract. Returns 0 or -ENAMETOOLONG. */
int net_unix_address(const char *path, struct net_address *out);

/* Writes "10.0.0.2:80", "[::1]:80" or the path. */
void net_address_text(const struct net_address *address, struct strbuf *out);

#endif
