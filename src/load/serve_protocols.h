/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the synthetic server's protocols. */
#ifndef HOSTLAT_LOAD_SERVE_PROTOCOLS_H
#define HOSTLAT_LOAD_SERVE_PROTOCOLS_H

#include "load/serve_request.h"

enum serve_protocol_number {
	SERVE_SYNTHETIC, SERVE_ECHO, SERVE_R2P2, SERVE_MEMCACHED, SERVE_REDIS, SERVE_HTTP,
	SERVE_PROTOCOLS,
};

extern const struct serve_protocol serve_protocols[SERVE_PROTOCOLS];

#endif
