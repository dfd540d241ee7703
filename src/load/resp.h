/* SPDX-License-Identifier: Apache-2.0 */
/* RESP2 and RESP3 (redis.io, "Redis serialization protocol specification"). */
#ifndef HOSTLAT_LOAD_RESP_H
#define HOSTLAT_LOAD_RESP_H

#include "load/protocol.h"

extern const protocol_put resp_put[OPERATIONS];

/*
 * Writes AUTH if the URL has a user or password (within HELLO if it asks for RESP3), and SELECT if
 * it has a database other than 0, as `greet` of struct protocol.
 */
size_t resp_greet(const struct target *target, char out[PROTOCOL_GREETING_MAX],
		  unsigned int *replies);
int resp_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out);

#endif
