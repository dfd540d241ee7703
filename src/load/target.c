/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs of targets, as in RFC 3986 but for the forms that have no meaning here: no user, no query
 * or fragment outside of HTTP's path, and Unix sockets as SCHEME+unix://PATH.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/nearest.h"
#include "base/parse.h"
#include "load/protocol.h"

#define SCHEME_MAX 32
#define UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

static bool has_path(const struct protocol *protocol)
{
	return strncmp(protocol->name, "http", 4) == 0;
}

static int say_unknown(const char *url, const char *scheme, struct strbuf *why)
{
	struct nearest nearest;

	nearest_init(&nearest, scheme);
	strbuf_printf(why, "'%s' is not a target: takes", url);
	for (const struct protocol *p = protocols; p->name; p++) {
		nearest_offer(&nearest, p->name);
		strbuf_printf(why, "%s %s:%s", p > protocols ? "," : "", p->name,
			      p->no_network ? "" : "//");
	}
	strbuf_puts(why, " and HOST[:PORT], or SCHEME+unix://PATH");
	if (nearest.best)
		strbuf_printf(why, " (did you mean %s:%s?)", nearest.best,
			      strcmp(nearest.best, "null") == 0 ? "" : "//");
	return -EINVAL;
}

static int refuse(const char *url, const struct target *t, struct strbuf *why)
{
	const struct protocol *p = t->protocol;

	if (p->no_network)
		strbuf_printf(why, "'%s' is not a target: takes %s:", url, p->name);
	else if (t->unix_socket && p->datagram)
		strbuf_printf(why, "'%s' is not a target: %s has no Unix sockets", url, p->name);
	else if (t->unix_socket)
		strbuf_printf(why, "'%s' is not a target: takes %s+unix://PATH%s, with a path of "
			      "at most %zu letters", url, p->name, has_path(p) ? "[:/PATH]" : "",
			      UNIX_PATH_MAX);
	else
		strbuf_printf(why, "'%s' is not a target: takes %s://HOST[:PORT]%s, an IPv6 "
			      "address in brackets, a port from 1 to 65535", url, p->name,
			      has_path(p) ? "[/PATH]" : "");
	return -EINVAL;
}

static int copy(char *to, size_t cap, const char *from, size_t size)
{
	if (!size || size >= cap)
		return -EINVAL;
	memcpy(to, from, size);
	to[size] = '\0';
	return 0;
}

/* What may stand in a request line; a fragment is never sent. */
static int take_path(struct target *t, const char *path)
{
	if (!*path)
		path = "/";
	for (const char *p = path; *p; p++) {
		if (*p <= ' ' || *p > '~' || *p == '#')
			return -EINVAL;
	}
	if (!has_path(t->protocol))
		return strcmp(path, "/") == 0 ? 0 : -EINVAL;
	return *path == '/' ? copy(t->path, sizeof(t->path), path, strlen(path)) : -EINVAL;
}

/* The socket's path is absolute or relative; ":/" begins the path of HTTP. */
static int take_unix(struct target *t, const char *rest)
{
	const char *colon = has_path(t->protocol) ? strstr(rest, ":/") : NULL;
	size_t size = colon ? (size_t)(colon - rest) : strlen(rest);

	if (t->protocol->datagram || size > UNIX_PATH_MAX)
		return -EINVAL;
	return copy(t->host, sizeof(t->host), rest, size) ?: take_path(t, colon ? colon + 1 : "");
}

/* "[::1]" or "[fe80::1%eth0]"; *rest is moved behind it. */
static int take_v6(struct target *t, const char **rest)
{
	const char *close = strchr(*rest, ']');
	struct in6_addr unused;
	char address[INET6_ADDRSTRLEN];
	int err;

	if (!close)
		return -EINVAL;
	err = copy(t->host, sizeof(t->host), *rest + 1, (size_t)(close - *rest - 1));
	if (err)
		return err;
	err = copy(address, sizeof(address), t->host, strcspn(t->host, "%"));
	*rest = close + 1;
	return err || inet_pton(AF_INET6, address, &unused) != 1 ? -EINVAL : 0;
}

static int take_host(struct target *t, const char **rest)
{
	size_t size = strcspn(*rest, ":/?#");
	size_t good = strspn(*rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_");
	const char *host = *rest;

	if (**rest == '[')
		return take_v6(t, rest);
	*rest += size;
	return size == good ? copy(t->host, sizeof(t->host), host, size) : -EINVAL;
}

static int take_port(struct target *t, const char **rest)
{
	const char *text = t->protocol->default_port;
	size_t size = text ? strlen(text) : 0;
	uint64_t port;
	int err;

	if (**rest == ':') {
		text = *rest + 1;
		size = strcspn(text, "/?#");
		*rest = text + size;
	}
	err = copy(t->port, sizeof(t->port), text ? text : "", size);
	if (!err)
		err = parse_u64(t->port, &port);
	if (err || port < 1 || port > 65535)
		return -EINVAL;
	snprintf(t->port, sizeof(t->port), "%u", (unsigned)port);
	return 0;
}

/* "SCHEME" or "SCHEME+unix" before the colon. */
static int take_scheme(struct target *t, const char *url, const char *colon, struct strbuf *why)
{
	static const char suffix[] = "+unix";
	char scheme[SCHEME_MAX] = "";
	size_t size;

	if (colon)
		(void)copy(scheme, sizeof(scheme), url, (size_t)(colon - url));
	size = strlen(scheme);
	if (size > strlen(suffix) && strcmp(scheme + size - strlen(suffix), suffix) == 0) {
		t->unix_socket = true;
		scheme[size - strlen(suffix)] = '\0';
	}
	t->protocol = protocol_find(scheme);
	return t->protocol ? 0 : say_unknown(url, scheme, why);
}

int target_parse(const char *url, struct target *out, struct strbuf *why)
{
	const char *colon = strchr(url, ':'), *rest;
	struct target t = { .path = "/" };
	int err;

	err = take_scheme(&t, url, colon, why);
	if (err)
		return err;
	rest = colon + 1;
	if (t.protocol->no_network) {
		err = *rest || t.unix_socket ? -EINVAL : 0;
	} else if (strncmp(rest, "//", 2) != 0) {
		err = -EINVAL;
	} else if (t.unix_socket) {
		err = take_unix(&t, rest + 2);
	} else {
		rest += 2;
		err = take_host(&t, &rest) ?: take_port(&t, &rest) ?: take_path(&t, rest);
	}
	if (err)
		return refuse(url, &t, why);
	*out = t;
	return 0;
}
