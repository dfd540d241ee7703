/* SPDX-License-Identifier: Apache-2.0 */
/* Server side of HTTP/1.1: every path has the same page. */
#ifndef HOSTLAT_LOAD_SERVE_HTTP_H
#define HOSTLAT_LOAD_SERVE_HTTP_H

#include "load/serve_request.h"

int serve_http_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out);
void serve_http_write(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out);

#endif
