/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses URLs of targets as in RFC 3986: SCHEME://[USER:PASSWORD@]HOST[:PORT][/PATH], and Unix
 * sockets as SCHEME+unix://PATH. Refuses parts without a meaning for the scheme.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/nearest.h"
#include "base/parse.h"
#include "load/protocol.h"
#include "load/text.h"

#define SCHEME_MAX 32
#define RESP3 "protocol=3"
#define CLUSTER "cluster=1"
#define UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

/* A URL being parsed; `rest` is the unparsed part. */
struct url {
	const char *text, *rest;
	struct target *target;
	struct strbuf *why;
};

static bool has_database(const struct protocol *protocol)
{
	return strncmp(protocol->name, "redis", 5) == 0;
}

static bool has_user(const struct protocol *protocol)
{
	return protocol->has_path || protocol->greet;
}

/* ---- error messages ---- */

/* Returns whether the text is "HOST" or "HOST:PORT". */
static bool is_host_and_port(const char *from, const char *end)
{
	const char *colon = memchr(from, ':', (size_t)(end - from));

	if (*from == '[' || !colon)
		return true;
	return colon > from && colon + 1 + strspn(colon + 1, "0123456789") == end;
}

/*
 * Returns the '@' after user and password, or NULL. A password may contain an unencoded '/', '?' or
 * '#', so the '@' may come later; but in HTTP, an '@' after HOST[:PORT]/ belongs to the path.
 */
static const char *user_end(const char *authority, bool path)
{
	const char *end = authority + strcspn(authority, "/?#");
	const char *at = memrchr(authority, '@', (size_t)(end - authority));

	if (at || *authority == '/' || (path && is_host_and_port(authority, end)))
		return at;
	return strrchr(end, '@');
}

/* Returns whether the URL's scheme, or a scheme that it begins with, has paths. */
static bool scheme_has_path(const char *url)
{
	for (const struct protocol *p = protocols; p->name; p++) {
		if (p->has_path && strncasecmp(url, p->name, strlen(p->name)) == 0)
			return true;
	}
	return false;
}

static size_t password_at(const char *url, size_t *size)
{
	const char *slashes = strstr(url, "://");
	const char *from = slashes ? slashes + 3 : url, *colon;
	const bool path = !slashes || scheme_has_path(url);
	const char *at = user_end(from, path);

	colon = at ? memchr(from, ':', (size_t)(at - from)) : NULL;
	*size = colon ? (size_t)(at - colon - 1) : 0;
	return colon ? (size_t)(colon + 1 - url) : 0;
}

void target_put_shown(const char *url, struct strbuf *out)
{
	size_t size, at = password_at(url, &size);

	if (!size) {
		strbuf_puts(out, url);
		return;
	}
	strbuf_add(out, url, at);
	strbuf_puts(out, "***");
	strbuf_puts(out, url + at + size);
}

static void put_takes(const struct target *t, struct strbuf *why)
{
	const struct protocol *p = t->protocol;

	if (p->no_network)
		strbuf_printf(why, "; the form is %s:", p->name);
	else if (t->unix_socket)
		strbuf_printf(why, "; the form is %s+unix://PATH%s", p->name,
			      p->has_path ? "[:/PATH]" : has_database(p) ? "[?" RESP3 "]" : "");
	else
		strbuf_printf(why, "; the form is %s://%sHOST[:PORT]%s", p->name,
			      has_user(p) ? "[USER:PASSWORD@]" : "",
			      p->grpc ? "/PACKAGE.SERVICE/METHOD" :
			      p->has_path ? "[/PATH]" :
			      has_database(p) ? "[/DATABASE][?" RESP3 "&" CLUSTER "]" : "");
}

/* Writes the URL's error and the valid form to `why`. Returns -EINVAL. */
static int __attribute__((format(printf, 2, 3)))
target_refuse(const struct url *u, const char *fmt, ...)
{
	va_list args;

	strbuf_puts(u->why, "'");
	target_put_shown(u->text, u->why);
	strbuf_puts(u->why, "' is not a target: ");
	va_start(args, fmt);
	strbuf_vprintf(u->why, fmt, args);
	va_end(args);
	put_takes(u->target, u->why);
	return -EINVAL;
}

static void put_schemes(struct nearest *nearest, struct strbuf *why)
{
	for (const struct protocol *p = protocols; p->name; p++) {
		nearest_offer(nearest, p->name);
		strbuf_printf(why, "%s%s:%s", p > protocols ? ", " : "", p->name,
			      p->no_network ? "" : "//");
	}
}

/* Returns the scheme whose default port is the port of "HOST:PORT". */
static const char *likely_scheme(const char *url)
{
	const char *colon = strrchr(url, ':');
	size_t size = colon ? strcspn(colon + 1, "/?#") : 0;

	for (const struct protocol *p = protocols; size && p->name; p++) {
		if (p->default_port && strlen(p->default_port) == size &&
		    !strncmp(p->default_port, colon + 1, size))
			return p->name;
	}
	return "http";
}

static int target_refuse_scheme(const char *url, const char *scheme, struct strbuf *why)
{
	const bool schemeless = *url && !strstr(url, "://");
	struct nearest nearest;

	nearest_init(&nearest, scheme);
	strbuf_puts(why, "'");
	target_put_shown(url, why);
	if (schemeless && strncmp(url, "unix:", 5) == 0) {
		strbuf_printf(why, "' has no protocol: write http+unix://%s", url + 5);
		strbuf_puts(why, ", or one of these before it: ");
	} else if (schemeless) {
		strbuf_printf(why, "' has no scheme: write %s://", likely_scheme(url));
		target_put_shown(url, why);
		strbuf_puts(why, ", or one of these before it: ");
	} else {
		strbuf_puts(why, "' is not a target: write one of ");
	}
	put_schemes(&nearest, why);
	strbuf_puts(why, schemeless ? "" : " followed by HOST[:PORT], or SCHEME+unix://PATH");
	if (nearest.best)
		strbuf_printf(why, " (did you mean %s:%s?)", nearest.best,
			      strcmp(nearest.best, "null") == 0 ? "" : "//");
	return -EINVAL;
}

/* ---- parts of a URL ---- */

static int target_copy(char *to, size_t cap, const char *from, size_t size)
{
	if (!size || size >= cap)
		return -EINVAL;
	memcpy(to, from, size);
	to[size] = '\0';
	return 0;
}

/* Decodes %XX sequences. Returns 0 or -EINVAL. */
static int target_decode(const char *from, const char *end, char *to, size_t cap)
{
	size_t n = 0;

	for (; from < end; from++) {
		int high, low;

		if (n + 1 >= cap)
			return -EINVAL;
		if (*from != '%') {
			to[n++] = *from;
			continue;
		}
		high = end - from > 2 ? text_hex_digit(from[1]) : -1;
		low = high < 0 ? -1 : text_hex_digit(from[2]);
		if (low < 0 || !(high | low))
			return -EINVAL;
		to[n++] = (char)(high << 4 | low);
		from += 2;
	}
	to[n] = '\0';
	return 0;
}

/* Percent-encodes bytes beyond ASCII (RFC 3987, 3.1); other bytes are sent as given. */
static int target_parse_http_path(struct url *u, const char *path)
{
	struct target *t = u->target;
	size_t n = 0;

	if (*path != '/')
		t->path[n++] = '/';
	for (const char *p = path; *p; p++) {
		const unsigned char c = (unsigned char)*p;

		if (n + 3 >= sizeof(t->path))
			return target_refuse(u, "the path is longer than %zu bytes",
					     sizeof(t->path) - 4);
		if (c == ' ')
			return target_refuse(u, "the path has a space: write %%20");
		if (c == '#')
			return target_refuse(
				u, "a fragment is never sent to a server: remove '%s'", p);
		if (c < ' ' || c == 127)
			return target_refuse(u, "the path has a control character");
		if (c < 128)
			t->path[n++] = *p;
		else
			n += (size_t)snprintf(t->path + n, sizeof(t->path) - n, "%%%02X", c);
	}
	t->path[n] = '\0';
	return 0;
}

/* Returns whether the path is "/SERVICE/METHOD". */
static bool is_grpc_path(const char *path)
{
	const char *method = *path == '/' ? strchr(path + 1, '/') : NULL;

	return method && method > path + 1 && method[1] && !strpbrk(method + 1, "/?#");
}

static int target_parse_database(struct url *u, const char *text, size_t size)
{
	char digits[16] = "";
	uint64_t n = 0;

	if (size && (target_copy(digits, sizeof(digits), text, size) || parse_u64(digits, &n)))
		return target_refuse(u, "'%.*s' is not a database number", (int)size, text);
	if (n > INT32_MAX)
		return target_refuse(u, "database %s is above %d", digits, INT32_MAX);
	u->target->database = (uint32_t)n;
	return 0;
}

static bool target_query_has(const char *text, size_t size, const char *setting)
{
	return strlen(setting) == size && strncmp(text, setting, size) == 0;
}

/* Parses "?protocol=3", "?cluster=1", or both with "&" between them, in any order. */
static int target_parse_redis_query(struct url *u, const char *query)
{
	struct target *t = u->target;
	const char *p = query, *separators = "?";
	size_t size;

	for (; *p; p += size, separators = "&") {
		size = 1 + strcspn(p + 1, "&#");
		if (strchr(separators, *p) && target_query_has(p + 1, size - 1, RESP3) && !t->resp3)
			t->resp3 = true;
		else if (strchr(separators, *p) && target_query_has(p + 1, size - 1, CLUSTER) &&
			 !t->cluster)
			t->cluster = true;
		else
			return target_refuse(u, "the only query is ?" RESP3 ", ?" CLUSTER " or ?"
						RESP3 "&" CLUSTER ": remove '%s'", p);
	}
	if (t->cluster && t->unix_socket)
		return target_refuse(u, "the nodes of a cluster have no Unix sockets: remove "
					CLUSTER);
	return 0;
}

/* Parses "/DATABASE" and the query of a URL of Redis; both may be missing. */
static int target_parse_redis_path(struct url *u, const char *path)
{
	const size_t size = strcspn(path, "?#");
	int err = target_parse_redis_query(u, path + size);

	if (!err && size)
		err = target_parse_database(u, path + 1, size - 1);
	if (!err && u->target->cluster && u->target->database)
		return target_refuse(u, "a cluster has only the database 0: remove /%u",
				     u->target->database);
	return err;
}

/* Parses the part of the URL after the authority. */
static int target_parse_path(struct url *u, const char *path)
{
	const struct protocol *p = u->target->protocol;

	if (p->grpc && !is_grpc_path(path))
		return target_refuse(u, "the path must name a service and its method");
	if (p->has_path)
		return target_parse_http_path(u, path);
	if (has_database(p))
		return target_parse_redis_path(u, path);
	if (*path == '?' || *path == '#')
		return target_refuse(u, "%s has no query and no fragment: remove '%s'", p->name,
				     path);
	if (*path && strcmp(path, "/") != 0)
		return target_refuse(u, "%s has no path: remove '%s'", p->name, path);
	return 0;
}

/* Parses "%2Frun%2Fx.sock/path": the socket's path is encoded as the host, as in HTTP clients. */
static int target_parse_encoded_unix(struct url *u)
{
	struct target *t = u->target;
	const size_t size = strcspn(u->rest, "/?#");
	/* also accept "SOCKET:/PATH", as with an unencoded socket */
	const bool colon = size && u->rest[size - 1] == ':';

	if (target_decode(u->rest, u->rest + size - colon, t->host, UNIX_PATH_MAX + 1))
		return target_refuse(u,
				     "the socket's path is too long, or has a '%%' without the two "
				     "hex digits of a byte");
	u->rest += size;
	return target_parse_path(u, u->rest);
}

/*
 * Parses the path of a socket, absolute or relative. In HTTP, ":/" begins the path of the page; in
 * Redis, '?' begins the query.
 */
static int target_parse_unix(struct url *u)
{
	struct target *t = u->target;
	const char *colon = t->protocol->has_path ? strstr(u->rest, ":/") : NULL;
	const char *query = has_database(t->protocol) ? strchr(u->rest, '?') : NULL;
	size_t size = colon ? (size_t)(colon - u->rest) :
		      query ? (size_t)(query - u->rest) : strlen(u->rest);

	if (t->protocol->datagram)
		return target_refuse(u, "%s has no Unix sockets", t->protocol->name);
	if (strncasecmp(u->rest, "%2F", 3) == 0)
		return target_parse_encoded_unix(u);
	if (size > UNIX_PATH_MAX)
		return target_refuse(u, "the path of a Unix socket has at most %zu bytes",
				     UNIX_PATH_MAX);
	if (target_copy(t->host, sizeof(t->host), u->rest, size))
		return target_refuse(u, "the socket's path is missing");
	return colon ? target_parse_path(u, colon + 1) : query ? target_parse_path(u, query) : 0;
}

/* Replaces the encoded zone "%25eth0" (RFC 6874) by "%eth0" (RFC 9844). */
static void target_parse_zone(char *zone)
{
	if (strncmp(zone, "%25", 3) == 0 && zone[3])
		memmove(zone + 1, zone + 3, strlen(zone + 3) + 1);
}

/* Parses "[::1]", "[fe80::1%eth0]" or "[fe80::1%25eth0]". */
static int target_parse_v6(struct url *u)
{
	struct target *t = u->target;
	const char *close = strchr(u->rest, ']');
	char address[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	if (!close ||
	    target_copy(t->host, sizeof(t->host), u->rest + 1, (size_t)(close - u->rest - 1)) ||
	    target_copy(address, sizeof(address), t->host, strcspn(t->host, "%")) ||
	    inet_pton(AF_INET6, address, &in6) != 1)
		return target_refuse(u,
				     "only an IPv6 address in brackets may begin with '[', as in "
				     "%s://[::1]:PORT",
				     t->protocol->name);
	target_parse_zone(t->host + strlen(address));
	if (IN6_IS_ADDR_LINKLOCAL(&in6) && strlen(t->host) < strlen(address) + 2)
		return target_refuse(u,
				     "a link-local address needs its interface, as in "
				     "%s://[%s%%eth0]",
				     t->protocol->name, address);
	u->rest = close + 1;
	if (*u->rest && !strchr(":/?#", *u->rest))
		return target_refuse(u, "a port, a path or nothing may follow ']', not '%s'",
				     u->rest);
	return 0;
}

static int target_parse_host(struct url *u)
{
	size_t size = strcspn(u->rest, ":/?#");
	size_t good = strspn(u->rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_");
	struct target *t = u->target;
	const char *host = u->rest;

	if (*host == '[')
		return target_parse_v6(u);
	u->rest += size;
	if (!size && *host == ':' && strchr(host + 1, ':'))
		return target_refuse(u, "an IPv6 address must be in brackets: "
			      "%s://[ADDRESS]", t->protocol->name);
	if (!size)
		return target_refuse(u, "the host is missing");
	if (good < size && (unsigned char)host[good] > 127)
		return target_refuse(u, "the host has non-ASCII characters: write the ASCII form "
					"(xn--...)");
	if (good < size)
		return target_refuse(u, "the host has a '%c'", host[good] < ' ' ? '?' : host[good]);
	if (target_copy(t->host, sizeof(t->host), host, size))
		return target_refuse(u, "the host is longer than %zu characters",
				     sizeof(t->host) - 1);
	return 0;
}

static int target_parse_port(struct url *u)
{
	struct target *t = u->target;
	const char *text = u->rest + 1;
	size_t size = strcspn(u->rest, "/?#");
	uint64_t port;

	if (*u->rest != ':') {
		snprintf(t->port, sizeof(t->port), "%s", t->protocol->default_port);
		return 0;
	}
	u->rest += size;
	size--;
	if (!size && strcmp(t->host, "unix") == 0)
		return target_refuse(u, "a Unix socket is written %s+unix://PATH",
				     t->protocol->name);
	if (memchr(text, ':', size))
		return target_refuse(u,
				     "a second ':' follows the host; an IPv6 address needs "
				     "brackets: %s://[ADDRESS]:PORT",
				     t->protocol->name);
	if (target_copy(t->port, sizeof(t->port), text, size) || parse_u64(t->port, &port) ||
	    port < 1 || port > 65535)
		return target_refuse(u, "'%.*s' is not a port from 1 to 65535", (int)size, text);
	snprintf(t->port, sizeof(t->port), "%u", (unsigned)port);
	return 0;
}

/* ---- user and password ---- */

static bool is_memcached(const struct protocol *protocol)
{
	return has_user(protocol) && !protocol->has_path && !has_database(protocol);
}

/* Returns what is wrong with the user and password, NULL if nothing is. */
static const char *login_error(const struct target *t)
{
	if (has_database(t->protocol) && !*t->password)
		return "Redis needs a password";
	if (!is_memcached(t->protocol))
		return NULL;
	if (!*t->user || !*t->password)
		return "memcached needs a user and a password";
	if (!t->protocol->matched_by_id && (strchr(t->user, ' ') || strchr(t->password, ' ')))
		return "a login in memcached's ASCII protocol has no spaces";
	return NULL;
}

int target_check_login(const struct target *target, struct strbuf *why)
{
	const char *wrong = login_error(target);

	if (wrong)
		strbuf_printf(why, "--auth: %s", wrong);
	return wrong ? -EINVAL : 0;
}

/* Parses "USER:PASSWORD@", "USER@" and, for Redis, ":PASSWORD@". */
static int target_parse_user(struct url *u)
{
	struct target *t = u->target;
	const char *at = user_end(u->rest, t->protocol->has_path), *colon, *wrong;

	if (!at)
		return 0;
	colon = memchr(u->rest, ':', (size_t)(at - u->rest));
	if (!has_user(t->protocol))
		return target_refuse(u, "a URL of %s has no user: remove the part up to the '@'",
				     t->protocol->name);
	if (strcspn(u->rest, "/?#") < (size_t)(at - u->rest))
		return target_refuse(
			u, "in a user or password, write '/', '?' and '#' as %%2F, %%3F and %%23");
	if (has_database(t->protocol) && (!colon || colon + 1 == at))
		return target_refuse(u, "Redis needs a password: write redis://:PASSWORD@HOST or "
					"redis://USER:PASSWORD@HOST");
	if (target_decode(u->rest, colon ? colon : at, t->user, sizeof(t->user)) ||
	    target_decode(colon ? colon + 1 : at, at, t->password, sizeof(t->password)))
		return target_refuse(
			u, "the user or password is too long, or has a '%%' without the two hex "
			   "digits of a byte (write a '%%' itself as %%25)");
	wrong = login_error(t);
	if (wrong)
		return target_refuse(u, "%s", wrong);
	if (t->protocol->has_path && strchr(t->user, ':'))
		return target_refuse(u, "an HTTP user name cannot contain ':'");
	t->has_user = true;
	u->rest = at + 1;
	return 0;
}

/* ---- whole URLs ---- */

/* Parses "SCHEME" or "SCHEME+unix" before the colon, in upper or lower case (RFC 3986, 3.1). */
static int target_parse_scheme(struct target *t, const char *url, const char *colon,
			       struct strbuf *why)
{
	static const char suffix[] = "+unix";
	char scheme[SCHEME_MAX] = "";
	size_t size;

	if (colon)
		(void)target_copy(scheme, sizeof(scheme), url, (size_t)(colon - url));
	for (char *p = scheme; *p; p++)
		*p += *p >= 'A' && *p <= 'Z' ? 'a' - 'A' : 0;
	size = strlen(scheme);
	if (size > strlen(suffix) && strcmp(scheme + size - strlen(suffix), suffix) == 0) {
		t->unix_socket = true;
		scheme[size - strlen(suffix)] = '\0';
	}
	t->protocol = protocol_find(scheme);
	return t->protocol ? 0 : target_refuse_scheme(url, scheme, why);
}

int target_parse(const char *url, struct target *out, struct strbuf *why)
{
	const char *colon = strchr(url, ':');
	struct target t = { .path = "/" };
	struct url u = { .text = url, .target = &t, .why = why };
	int err = target_parse_scheme(&t, url, colon, why);

	if (err)
		return err;
	u.rest = colon + 1;
	if (t.protocol->no_network) {
		if (*u.rest || t.unix_socket)
			err = target_refuse(&u, "%s has no server", t.protocol->name);
	} else if (strncmp(u.rest, "//", 2) != 0) {
		err = target_refuse(&u, "'//' is missing behind '%.*s:'", (int)(colon - url), url);
	} else if (t.unix_socket) {
		u.rest += 2;
		err = target_parse_unix(&u);
	} else {
		u.rest += 2;
		err = target_parse_user(&u) ?: target_parse_host(&u) ?: target_parse_port(&u) ?:
		      target_parse_path(&u, u.rest);
	}
	if (!err)
		*out = t;
	return err;
}
