/* SPDX-License-Identifier: Apache-2.0 */
#include "load/sources.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 80 /* an IPv6 address with its interface */

/* ---- parsing ---- */

static int sources_parse_v4(const char *text, struct net_address *out)
{
	struct sockaddr_in *v4 = (void *)&out->addr;

	if (inet_pton(AF_INET, text, &v4->sin_addr) != 1 || !v4->sin_addr.s_addr)
		return -EINVAL;
	v4->sin_family = AF_INET;
	out->len = sizeof(*v4);
	return 0;
}

/* Parses an IPv6 address, and the interface that a link-local address needs: fe80::1%eth0. */
static int sources_parse_v6(char *text, struct net_address *out)
{
	struct sockaddr_in6 *v6 = (void *)&out->addr;
	char *zone = strchr(text, '%');

	if (zone)
		*zone++ = '\0';
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1 ||
	    IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
		return -EINVAL;
	v6->sin6_scope_id = zone ? if_nametoindex(zone) : 0;
	if ((zone != NULL) != (v6->sin6_scope_id != 0) ||
	    (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && !zone))
		return -EINVAL;
	v6->sin6_family = AF_INET6;
	out->len = sizeof(*v6);
	return 0;
}

static bool sources_has(const struct source_list *list, const struct net_address *address)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (!memcmp(&list->list[i].addr, &address->addr, address->len))
			return true;
	}
	return false;
}

static int sources_add(struct sources *s, const char *text, size_t size)
{
	struct net_address address = { .type = SOCK_STREAM };
	struct source_list *list;
	char copy[TEXT_MAX];
	int err;

	if (!size || size >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, size);
	copy[size] = '\0';
	list = strchr(copy, ':') ? &s->v6 : &s->v4;
	err = list == &s->v6 ? sources_parse_v6(copy, &address) : sources_parse_v4(copy, &address);
	if (err || sources_count(s) == SOURCES_MAX || sources_has(list, &address))
		return -EINVAL;
	list->list[list->n++] = address;
	return 0;
}

int sources_parse(const char *text, struct sources *out, struct strbuf *why)
{
	*out = (struct sources){ 0 };
	for (const char *at = text; at;) {
		const size_t size = strcspn(at, ",");

		if (sources_add(out, at, size)) {
			strbuf_printf(why, "--bind takes up to %d different %s, not '%.*s'",
				      SOURCES_MAX, SOURCES_TAKES, (int)size, at);
			return -EINVAL;
		}
		at = at[size] ? at + size + 1 : NULL;
	}
	return 0;
}

/* ---- checks ---- */

static int sources_try(const struct net_address *address)
{
	int fd = socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address->addr, address->len))
		err = -errno;
	close(fd);
	return err;
}

static void sources_explain(const struct net_address *address, int err, struct strbuf *why)
{
	const struct sockaddr_in *v4 = (const void *)&address->addr;
	const struct sockaddr_in6 *v6 = (const void *)&address->addr;
	const bool is_v4 = address->addr.ss_family == AF_INET;
	char text[INET6_ADDRSTRLEN];

	strbuf_reset(why);
	inet_ntop(address->addr.ss_family, is_v4 ? (const void *)&v4->sin_addr :
						   (const void *)&v6->sin6_addr,
		  text, sizeof(text));
	strbuf_printf(why, "--bind %s: %s", text,
		      err == -EADDRNOTAVAIL ? "this host does not have this address (ip address "
					      "lists those that it has)" : strerror(-err));
}

static int sources_check_list(struct source_list *list, bool any, struct strbuf *why)
{
	uint32_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		const int failed = sources_try(&list->list[i]);

		if (failed)
			sources_explain(&list->list[i], failed, why);
		else
			list->list[n++] = list->list[i];
		err = err ? err : failed;
		if (err && !any)
			return err;
	}
	list->n = n;
	return err;
}

int sources_check(struct sources *s, bool any, struct strbuf *why)
{
	int err = sources_check_list(&s->v4, any, why);

	if (!err || any)
		err = sources_check_list(&s->v6, any, why) ?: err;
	if (!any || !sources_count(s))
		return err;
	strbuf_reset(why);
	return 0;
}

/* ---- use ---- */

static const struct source_list *sources_list(const struct sources *s, int family)
{
	return family == AF_INET6 ? &s->v6 : &s->v4;
}

const struct net_address *sources_at(const struct sources *s, int family, uint32_t turn)
{
	const struct source_list *list = sources_list(s, family);

	return list->n ? &list->list[turn % list->n] : NULL;
}

bool sources_reach(const struct sources *s, int family)
{
	return sources_list(s, family)->n || !sources_count(s);
}

uint32_t sources_count(const struct sources *s)
{
	return s->v4.n + s->v6.n;
}
