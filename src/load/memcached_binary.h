/* SPDX-License-Identifier: Apache-2.0 */
/* memcached's binary protocol (wiki of its sources, "BinaryProtocolRevamped"): Get, Set, Delete. */
#ifndef HOSTLAT_LOAD_MEMCACHED_BINARY_H
#define HOSTLAT_LOAD_MEMCACHED_BINARY_H

#include "load/protocol.h"

extern const protocol_put memcached_binary_put[OPERATIONS];

/* Writes the SASL login of the URL's user, mechanism PLAIN, as `greet` of struct protocol. */
size_t memcached_binary_greet(const struct target *target, char out[PROTOCOL_GREETING_MAX],
			      unsigned int *replies);

int memcached_binary_parse(struct reply_parser *parser, uint16_t type, const void *data,
			   size_t size, size_t *used, struct reply *out);

#endif
