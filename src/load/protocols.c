/* SPDX-License-Identifier: Apache-2.0 */
/* The table of protocols. */
#include <string.h>

#include "load/echo.h"
#include "load/http.h"
#include "load/memcached.h"
#include "load/memcached_binary.h"
#include "load/memcached_udp.h"
#include "load/protocol.h"
#include "load/r2p2.h"
#include "load/resp.h"
#include "load/workload.h"

/* What of a workload its requests are made of. */
#define OF_STORE                                                                                   \
	(1U << WORKLOAD_BASE | 1U << WORKLOAD_KEYS | 1U << WORKLOAD_POPULARITY |                   \
	 1U << WORKLOAD_KEY | 1U << WORKLOAD_VALUE | 1U << WORKLOAD_READ)
#define OF_HTTP (1U << WORKLOAD_BASE | 1U << WORKLOAD_VALUE | 1U << WORKLOAD_READ)
#define OF_ECHO (1U << WORKLOAD_REQUEST)
#define OF_SYNTHETIC (1U << WORKLOAD_SERVICE | 1U << WORKLOAD_REQUEST | 1U << WORKLOAD_REPLY)

/* What a protocol and its TLS variant share. */
#define RESP                                                                                       \
	.default_port = "6379", .settings = OF_STORE,                                              \
	.encode = resp_encode, .parse = resp_parse,                                                \
	.type_name = resp_type_name, .encode_store = resp_encode_store,              \
	.greet = resp_greet, .greet_type = RESP_SET
#define HTTP                                                                                       \
	.settings = OF_HTTP, .http = true,                                                         \
	.encode = http_encode, .parse = http_parse, .type_name = http_type_name,                   \
	.repeatable = http_repeatable

const struct protocol protocols[] = {
	{ .name = "memcached", .default_port = "11211",
	  .settings = OF_STORE,
	  .encode = memcached_encode, .parse = memcached_parse,
	  .type_name = memcached_type_name, .encode_store = memcached_encode_store },
	{ .name = "memcached-binary", .default_port = "11211", .matched_by_id = true,
	  .settings = OF_STORE,
	  .encode = memcached_binary_encode, .parse = memcached_binary_parse,
	  .type_name = memcached_type_name, .encode_store = memcached_binary_encode_store },
	{ .name = "udp+memcached", .default_port = "11211", .matched_by_id = true, .datagram = true,
	  .settings = OF_STORE,
	  .encode = memcached_udp_encode, .parse = memcached_udp_parse,
	  .type_name = memcached_type_name, .encode_store = memcached_udp_encode_store },
	{ .name = "redis", RESP },
	{ .name = "rediss", .tls = true, RESP },
	{ .name = "http", .default_port = "80", HTTP },
	{ .name = "https", .default_port = "443", .tls = true, HTTP },
	{ .name = "echo", .default_port = "4300", .matched_by_id = true,
	  .settings = OF_ECHO,
	  .encode = echo_encode, .parse = echo_parse, .type_name = echo_type_name },
	{ .name = "synthetic", .default_port = "4300", .matched_by_id = true,
	  .settings = OF_SYNTHETIC,
	  .encode = synthetic_encode, .parse = synthetic_parse, .type_name = echo_type_name },
	{ .name = "r2p2", .default_port = "4300", .matched_by_id = true, .datagram = true,
	  .settings = OF_SYNTHETIC,
	  .encode = r2p2_encode, .parse = r2p2_parse, .type_name = echo_type_name },
	{ .name = "null", .matched_by_id = true, .no_network = true,
	  .settings = OF_ECHO,
	  .encode = echo_encode, .parse = echo_parse, .type_name = echo_type_name },
	{ .name = NULL },
};

const struct protocol *protocol_find(const char *scheme)
{
	for (const struct protocol *p = protocols; p->name; p++) {
		if (strcmp(p->name, scheme) == 0)
			return p;
	}
	return NULL;
}
