/* SPDX-License-Identifier: Apache-2.0 */
/* memcached's binary protocol (wiki of its sources, "BinaryProtocolRevamped"): Get, Set, Delete. */
#ifndef HOSTLAT_LOAD_MEMCACHED_BINARY_H
#define HOSTLAT_LOAD_MEMCACHED_BINARY_H

#include "load/protocol.h"

extern const protocol_put memcached_binary_put[OPERATIONS];

int memcached_binary_parse(struct reply_parser *parser, uint16_t type, const void *data,
			   size_t size, size_t *used, struct reply *out);

#endif
