/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/parse.h"

#define PORT_HTTP "8123"
#define PORT_HTTPS "8443"
#define HOST_MAX 255u /* bytes; names have at most 253 (RFC 1035) */
#define CLUSTER "cluster="
#define TAKES "clickhouse://HOST[:PORT][,HOST[:PORT]...]/DATABASE[?cluster=NAME]"

static bool address_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int address_name(const char *kind, const char *text, size_t n, char *out,
			struct strbuf *why)
{
	bool is_valid = n && n < CLICKHOUSE_NAME_MAX && address_is_letter(text[0]);

	for (size_t i = 0; i < n && is_valid; i++)
		is_valid = address_is_letter(text[i]) || parse_is_digit(text[i]);
	if (!is_valid) {
		strbuf_printf(why, "'%.*s' is no name of a %s: it takes letters, digits and _, "
			      "begins with none of the digits, and has at most %u characters (%s)",
			      (int)(n < HOST_MAX ? n : HOST_MAX), text, kind,
			      CLICKHOUSE_NAME_MAX - 1, TAKES);
		return -EINVAL;
	}
	memcpy(out, text, n);
	out[n] = '\0';
	return 0;
}

/* Returns true for a name that DNS can have, or an IPv4 address. */
static bool address_is_host(const char *text, size_t n)
{
	if (!n || n > HOST_MAX || text[0] == '-' || text[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!address_is_letter(text[i]) && !parse_is_digit(text[i]) && text[i] != '-' &&
		    text[i] != '.')
			return false;
	return true;
}

static bool address_is_ipv6(const char *text, size_t n)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr ignored;

	if (n < 2 || n - 2 >= sizeof(address) || text[0] != '[' || text[n - 1] != ']')
		return false;
	memcpy(address, text + 1, n - 2);
	address[n - 2] = '\0';
	return inet_pton(AF_INET6, address, &ignored) == 1;
}

static bool address_is_port(const char *text, size_t n)
{
	char digits[8];
	uint64_t port;

	if (!n || n >= sizeof(digits))
		return false;
	memcpy(digits, text, n);
	digits[n] = '\0';
	return !parse_u64(digits, &port) && port >= 1 && port <= UINT16_MAX;
}

/* Adds a server, "HOST" or "HOST:PORT", with its port. */
static int address_server(const char *text, size_t n, struct clickhouse_address *out,
			  struct strbuf *why)
{
	const char *bracket = memchr(text, ']', n);
	const char *from = bracket ? bracket : text;
	const char *colon = memchr(from, ':', n - (size_t)(from - text));
	const size_t host = colon ? (size_t)(colon - text) : n;
	char *to = out->server[out->n++];

	if ((!address_is_host(text, host) && !address_is_ipv6(text, host)) ||
	    (colon && !address_is_port(colon + 1, n - host - 1))) {
		strbuf_printf(why, "'%.*s' is no server: give a name or an address, and a port "
			      "from 1 to 65535 or none, such as db1:8123 or [2001:db8::1] (%s)",
			      (int)(n < HOST_MAX ? n : HOST_MAX), text, TAKES);
		return -EINVAL;
	}
	memcpy(to, text, n);
	to[n] = '\0';
	if (!colon) {
		to[n] = ':';
		memcpy(to + n + 1, out->tls ? PORT_HTTPS : PORT_HTTP, sizeof(PORT_HTTP));
	}
	return 0;
}

static int address_servers(const char *text, size_t n, struct clickhouse_address *out,
			   struct strbuf *why)
{
	const char *end = text + n;
	int err = 0;

	out->n = 0;
	while (!err) {
		const char *comma = memchr(text, ',', (size_t)(end - text));

		if (out->n == CLICKHOUSE_SERVERS_MAX) {
			strbuf_printf(why, "a store has at most %u servers",
				      CLICKHOUSE_SERVERS_MAX);
			return -EINVAL;
		}
		err = address_server(text, (size_t)((comma ? comma : end) - text), out, why);
		if (!comma)
			break;
		text = comma + 1;
	}
	return err;
}

static int address_cluster(const char *query, struct clickhouse_address *out, struct strbuf *why)
{
	const size_t n = strlen(CLUSTER);

	out->cluster[0] = '\0';
	if (query && strncmp(query, CLUSTER, n) != 0) {
		strbuf_printf(why, "'?%.*s' is no option of a store (%s)", (int)HOST_MAX, query,
			      TAKES);
		return -EINVAL;
	}
	if (query)
		return address_name("cluster", query + n, strlen(query + n), out->cluster, why);
	if (out->n == 1)
		return 0;
	strbuf_puts(why, "several servers need the name of the cluster that they are in "
			 "(remote_servers in their configuration): end the address with "
			 "?cluster=NAME");
	return -EINVAL;
}

int clickhouse_address_parse(const char *text, struct clickhouse_address *out, struct strbuf *why)
{
	const char *slash, *query;
	int err;

	out->tls = !strncmp(text, CLICKHOUSE_BEGIN_TLS, strlen(CLICKHOUSE_BEGIN_TLS));
	text += strlen(out->tls ? CLICKHOUSE_BEGIN_TLS : CLICKHOUSE_BEGIN);
	if (strchr(text, '@')) {
		strbuf_puts(why, "user and password are not part of the store's address: put them "
				 "into the environment, HOSTLAT_STORE_USER and "
				 "HOSTLAT_STORE_PASSWORD");
		return -EINVAL;
	}
	query = strchrnul(text, '?');
	slash = memchr(text, '/', (size_t)(query - text));
	if (!slash) {
		strbuf_printf(why, "the address of the store has no database (%s)", TAKES);
		return -EINVAL;
	}
	err = address_servers(text, (size_t)(slash - text), out, why);
	if (!err)
		err = address_name("database", slash + 1, (size_t)(query - slash - 1),
				   out->database, why);
	return err ? err : address_cluster(*query ? query + 1 : NULL, out, why);
}
