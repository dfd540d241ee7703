/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of HTTP/1.1 (RFC 9110, 9112) on persistent connections; requests: http_request.h. */
#ifndef HOSTLAT_LOAD_HTTP_H
#define HOSTLAT_LOAD_HTTP_H

#include "load/protocol.h"

/* Returns what an HTTP status of 100 to 599 means. */
enum reply_status http_reply_status(uint16_t status);

int http_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out);

#endif
