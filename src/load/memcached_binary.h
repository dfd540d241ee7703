/* SPDX-License-Identifier: Apache-2.0 */
/* memcached's binary protocol (wiki of its sources, "BinaryProtocolRevamped"): Get and Set. */
#ifndef HOSTLAT_LOAD_MEMCACHED_BINARY_H
#define HOSTLAT_LOAD_MEMCACHED_BINARY_H

#include "load/protocol.h"

/* Types are those of memcached.h. */
int memcached_binary_encode(const struct workload *workload, struct rng *rng, uint32_t id,
			    void *buffer, size_t cap, struct request *out);
int memcached_binary_encode_store(const struct workload *workload, uint64_t index, void *buffer,
				  size_t cap, struct request *out);
int memcached_binary_parse(struct parser *parser, uint16_t type, const void *data, size_t size,
			   size_t *used, struct reply *out);

#endif
