/* SPDX-License-Identifier: Apache-2.0 */
/* memcached's ASCII protocol (doc/protocol.txt of its sources): get, set and delete of one key. */
#ifndef HOSTLAT_LOAD_MEMCACHED_H
#define HOSTLAT_LOAD_MEMCACHED_H

#include "load/protocol.h"

extern const protocol_put memcached_put[OPERATIONS], memcached_datagram_put[OPERATIONS];

/* Writes the login of the URL's user (memcached -Y), as `greet` of struct protocol. */
size_t memcached_greet(const struct target *target, char out[PROTOCOL_GREETING_MAX],
		       unsigned int *replies);

int memcached_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
		    size_t *used, struct reply *out);

/* Returns the operation that a reply's first word answers; OPERATION_GET if it may be any. */
uint16_t memcached_answered(const void *text, size_t size);

#endif
