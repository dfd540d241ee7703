/* SPDX-License-Identifier: Apache-2.0 */
/* Server side of the protocols echo, synthetic (load/synthetic.h) and r2p2 (load/r2p2.h). */
#ifndef HOSTLAT_LOAD_SERVE_BINARY_H
#define HOSTLAT_LOAD_SERVE_BINARY_H

#include "load/serve_request.h"

int serve_echo_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out);
void serve_echo_write(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out);

int serve_synthetic_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
			  uint64_t *skip, struct serve_request *out);
void serve_synthetic_write(const struct serve_settings *settings,
			   const struct serve_request *request, char *to, struct serve_reply *out);

int serve_r2p2_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out);
void serve_r2p2_write(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out);

#endif
