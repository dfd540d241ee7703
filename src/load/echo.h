/* SPDX-License-Identifier: Apache-2.0 */
/* The client side of the echo and synthetic protocols (messages: synthetic.h). */
#ifndef HOSTLAT_LOAD_ECHO_H
#define HOSTLAT_LOAD_ECHO_H

#include "load/protocol.h"

int echo_encode(const struct workload *workload, struct rng *rng, void *buffer, size_t cap,
		struct encoded_request *out);
int echo_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out);

int synthetic_encode(const struct workload *workload,
		     struct rng *rng, void *buffer, size_t cap, struct encoded_request *out);
int synthetic_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
		    size_t *used, struct reply *out);

#endif
