/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

int net_resolve(const char *host, const char *port, bool datagram,
		struct net_address out[NET_ADDRESSES_MAX], struct strbuf *why)
{
	const struct addrinfo hints = {
		.ai_socktype = datagram ? SOCK_DGRAM : SOCK_STREAM,
		.ai_flags = AI_ADDRCONFIG,
	};
	struct addrinfo *list = NULL, *ai;
	int n = 0, err = getaddrinfo(host, port, &hints, &list);

	/*
	 * Retry without AI_ADDRCONFIG, which refuses loopback addresses if no other address is
	 * configured; but not if the name server did not answer (EAI_AGAIN).
	 */
	if (err && err != EAI_AGAIN) {
		const struct addrinfo any = { .ai_socktype = hints.ai_socktype };

		err = getaddrinfo(host, port, &any, &list);
	}
	if (err) {
		strbuf_printf(why, "%s: %s", host,
			      err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
		return err == EAI_MEMORY ? -ENOMEM : -EHOSTUNREACH;
	}
	for (ai = list; ai && n < NET_ADDRESSES_MAX; ai = ai->ai_next) {
		if (ai->ai_addrlen > sizeof(out[n].addr))
			continue;
		memcpy(&out[n].addr, ai->ai_addr, ai->ai_addrlen);
		out[n].len = ai->ai_addrlen;
		out[n++].type = hints.ai_socktype;
	}
	freeaddrinfo(list);
	return n;
}

int net_unix_address(const char *path, struct net_address *out)
{
	struct sockaddr_un *un = (void *)&out->addr;
	size_t len = strlen(path);

	if (!len || len >= sizeof(un->sun_path))
		return -ENAMETOOLONG;
	*out = (struct net_address){ .type = SOCK_STREAM };
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, len);
	out->len = offsetof(struct sockaddr_un, sun_path) + len + 1;
	if (path[0] == '@') {
		un->sun_path[0] = '\0';
		out->len--;
	}
	return 0;
}

void net_address_text(const struct net_address *address, struct strbuf *out)
{
	const struct sockaddr_un *un = (const void *)&address->addr;
	char host[NI_MAXHOST], port[NI_MAXSERV];
	bool v6 = address->addr.ss_family == AF_INET6;

	if (address->addr.ss_family == AF_UNIX)
		strbuf_printf(out, "%s%s", un->sun_path[0] ? "" : "@",
			      un->sun_path + !un->sun_path[0]);
	else if (getnameinfo((const struct sockaddr *)&address->addr, address->len, host,
			     sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		strbuf_puts(out, "an unknown address");
	else
		strbuf_printf(out, v6 ? "[%s]:%s" : "%s:%s", host, port);
}
