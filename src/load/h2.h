/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 (RFC 9113) by nghttp2, and gRPC's unary calls over it: GET of one path, POST of a value,
 * or a call with one message. A request is a stream of the connection.
 */
#ifndef HOSTLAT_LOAD_H2_H
#define HOSTLAT_LOAD_H2_H

#include "load/protocol.h"
#include "load/session.h"

extern const struct session_ops h2_session_ops;

int h2_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	     size_t *used, struct reply *out);

#endif
