/* SPDX-License-Identifier: Apache-2.0 */
/* memcached's ASCII protocol in datagrams (doc/protocol.txt of its sources, "UDP protocol"). */
#ifndef HOSTLAT_LOAD_MEMCACHED_UDP_H
#define HOSTLAT_LOAD_MEMCACHED_UDP_H

#include "load/protocol.h"

#define MEMCACHED_UDP_FRAME 8

/*
 * Writes the UDP frame header of a request, MEMCACHED_UDP_FRAME bytes, to `frame`. Truncates the
 * request's id to 16 bits.
 */
void memcached_udp_put_frame(uint8_t *frame, struct encoded_request *out);
int memcached_udp_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
			size_t *used, struct reply *out);

#endif
