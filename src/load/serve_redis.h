/* SPDX-License-Identifier: Apache-2.0 */
/* Server side of RESP: the part of Redis that redis-benchmark and redis-cli need. */
#ifndef HOSTLAT_LOAD_SERVE_REDIS_H
#define HOSTLAT_LOAD_SERVE_REDIS_H

#include "load/serve_request.h"

int serve_redis_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out);
void serve_redis_write(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out);

#endif
