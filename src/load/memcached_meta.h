/* SPDX-License-Identifier: Apache-2.0 */
/* memcached's meta commands of its ASCII protocol (doc/protocol.txt of memcached): mg, ms, md. */
#ifndef HOSTLAT_LOAD_MEMCACHED_META_H
#define HOSTLAT_LOAD_MEMCACHED_META_H

#include "load/protocol.h"

extern const protocol_put memcached_meta_put[OPERATIONS];

int memcached_meta_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
			 size_t *used, struct reply *out);

#endif
