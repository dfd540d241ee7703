/* SPDX-License-Identifier: Apache-2.0 */
/* Server side of memcached's ASCII protocol: each get is a hit, or a miss if reply_size is 0. */
#ifndef HOSTLAT_LOAD_SERVE_MEMCACHED_H
#define HOSTLAT_LOAD_SERVE_MEMCACHED_H

#include "load/serve_request.h"

int serve_memcached_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
			  uint64_t *skip, struct serve_request *out);
void serve_memcached_write(const struct serve_settings *settings,
			   const struct serve_request *request, char *to, struct serve_reply *out);

#endif
