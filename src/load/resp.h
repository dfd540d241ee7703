/* SPDX-License-Identifier: Apache-2.0 */
/* RESP2 and the null of RESP3 (redis.io, "Redis serialization protocol"): GET and SET. */
#ifndef HOSTLAT_LOAD_RESP_H
#define HOSTLAT_LOAD_RESP_H

#include "load/protocol.h"

enum resp_type { RESP_GET, RESP_SET };

const char *resp_type_name(uint16_t type);

int resp_encode(const struct workload *workload, struct rng *rng, uint32_t id, void *buffer,
		size_t cap, struct request *out);
int resp_encode_store(const struct workload *workload, uint64_t index, void *buffer, size_t cap,
		      struct request *out);
/* AUTH and SELECT, as the URL asks for them: see struct protocol. */
size_t resp_greet(const struct target *target, char out[PROTOCOL_GREETING_MAX],
		  unsigned int *replies);
int resp_parse(struct parser *parser, uint16_t type, const void *data, size_t size, size_t *used,
	       struct reply *out);

#endif
