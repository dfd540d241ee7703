/* SPDX-License-Identifier: Apache-2.0 */
/* The message of a gRPC request, given as bytes: hostlat knows no message types. */
#ifndef HOSTLAT_LOAD_GRPC_MESSAGE_H
#define HOSTLAT_LOAD_GRPC_MESSAGE_H

#include <stddef.h>

#include "base/strbuf.h"

#define GRPC_MESSAGE_MAX (16 << 20)
#define GRPC_PREFIX 5 /* bytes before a message: not compressed, and its length */

struct grpc_message {
	unsigned char *bytes; /* prefix and message, owned by the user; NULL: an empty message */
	size_t size;          /* bytes of both */
};

/*
 * Reads a message: "@FILE", "hex:48656c6c6f" or "base64:SGVsbG8=". Returns 0, or -errno with a
 * sentence in `why`.
 */
int grpc_message_parse(const char *text, struct grpc_message *out, struct strbuf *why);

#endif
