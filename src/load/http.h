/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 (RFC 9110, 9112): GET of one path, POST of a value; connections are kept. */
#ifndef HOSTLAT_LOAD_HTTP_H
#define HOSTLAT_LOAD_HTTP_H

#include "load/protocol.h"

enum http_type { HTTP_GET, HTTP_POST };

const char *http_type_name(uint16_t type);
bool http_repeatable(uint16_t type);

int http_encode(const struct workload *workload, struct rng *rng, uint32_t id, void *buffer,
		size_t cap, struct request *out);
int http_parse(struct parser *parser, uint16_t type, const void *data, size_t size, size_t *used,
	       struct reply *out);

#endif
