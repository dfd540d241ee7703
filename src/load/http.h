/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 (RFC 9110, 9112): GET of one path, POST of a value, on persistent connections. */
#ifndef HOSTLAT_LOAD_HTTP_H
#define HOSTLAT_LOAD_HTTP_H

#include "load/protocol.h"

extern const protocol_put http_put[OPERATIONS];

int http_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out);

#endif
