/* SPDX-License-Identifier: Apache-2.0 */
#include "load/serve_protocols.h"

#include "load/serve_binary.h"
#include "load/serve_http.h"
#include "load/serve_memcached.h"
#include "load/serve_redis.h"

const struct serve_protocol serve_protocols[SERVE_PROTOCOLS] = {
	[SERVE_SYNTHETIC] = {
		.name = "synthetic", .stream = true, .datagram = true, .by_id = true,
		.parse = serve_synthetic_parse, .write = serve_synthetic_write,
	},
	[SERVE_ECHO] = {
		.name = "echo", .stream = true, .datagram = true, .by_id = true,
		.parse = serve_echo_parse, .write = serve_echo_write,
	},
	[SERVE_R2P2] = {
		.name = "r2p2", .datagram = true, .by_id = true,
		.parse = serve_r2p2_parse, .write = serve_r2p2_write,
	},
	[SERVE_MEMCACHED] = {
		.name = "memcached", .stream = true,
		.refusal = "SERVER_ERROR too many requests are waiting\r\n",
		.parse = serve_memcached_parse, .write = serve_memcached_write,
	},
	[SERVE_REDIS] = {
		.name = "redis", .stream = true,
		.refusal = "-BUSY too many requests are waiting\r\n",
		.parse = serve_redis_parse, .write = serve_redis_write,
	},
	[SERVE_HTTP] = {
		.name = "http", .stream = true,
		.refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
		.parse = serve_http_parse, .write = serve_http_write,
	},
};
