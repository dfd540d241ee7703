/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of inet_diag, made by hand. */
#ifndef HOSTLAT_TESTS_DIAG_ANSWER_H
#define HOSTLAT_TESTS_DIAG_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "probe/connection/diag.h"

#define ANSWER_SEQ 7

/* A datagram that is filled; what doesn't fit is a bug. */
struct answer {
	unsigned char bytes[8192];
	size_t size;
};

/* A socket's message with everything that a new kernel gives, cut to `info_size`. */
struct answer_sock {
	struct inet_diag_msg msg;
	struct diag_info info;
	size_t info_size;      /* 0: no attribute */
	const uint32_t *memory; /* 9 words, or NULL */
	const char *cc, *above; /* or NULL */
};

/* An established IPv4 connection, 10.0.0.1:1000 to 10.0.0.2:2000, with `cookie`. */
void answer_sock_init(struct answer_sock *sock, uint64_t cookie);

void answer_add(struct answer *answer, const struct answer_sock *sock);

/* The end of the dump, or (with a type) an error: a message whose body is `err`. */
void answer_end(struct answer *answer, uint16_t type, int32_t err);

#endif
