/* SPDX-License-Identifier: Apache-2.0 */
/* memcached's ASCII protocol in datagrams (doc/protocol.txt of its sources, "UDP protocol"). */
#ifndef HOSTLAT_LOAD_MEMCACHED_UDP_H
#define HOSTLAT_LOAD_MEMCACHED_UDP_H

#include "load/protocol.h"

/* Types are those of memcached.h. An id has 16 bits. */
int memcached_udp_encode(const struct workload *workload, struct rng *rng, uint32_t id,
			 void *buffer, size_t cap, struct request *out);
int memcached_udp_encode_store(const struct workload *workload, uint64_t index, void *buffer,
			       size_t cap, struct request *out);
int memcached_udp_parse(struct parser *parser, uint16_t type, const void *data, size_t size,
			size_t *used, struct reply *out);

#endif
