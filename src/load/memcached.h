/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcached's ASCII protocol (doc/protocol.txt of its sources): get and set, of one key. And the
 * same in datagrams, behind a frame header.
 */
#ifndef HOSTLAT_LOAD_MEMCACHED_H
#define HOSTLAT_LOAD_MEMCACHED_H

#include "load/protocol.h"

enum memcached_type { MEMCACHED_GET, MEMCACHED_SET };

const char *memcached_type_name(uint16_t type);

int memcached_encode(const struct workload *workload, struct rng *rng, uint32_t id, void *buffer,
		     size_t cap, struct request *out);
int memcached_encode_store(const struct workload *workload, uint64_t index, void *buffer,
			   size_t cap, struct request *out);
int memcached_parse(struct parser *parser, uint16_t type, const void *data, size_t size,
		    size_t *used, struct reply *out);

#endif
