/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded requests (--replay), in memory: encoded but for the fields that a target adds. A run
 * sends them in the file's order, and from the start again at their end. Immutable after reading,
 * so that threads share them.
 */
#ifndef HOSTLAT_LOAD_REPLAY_H
#define HOSTLAT_LOAD_REPLAY_H

#include "load/config.h"
#include "load/protocol.h"
#include "load/replay_file.h"

#define REPLAY_REQUESTS_MAX (32U << 20) /* requests of a file, at most */
#define REPLAY_BYTES_MAX (2ULL << 30)   /* bytes of a file's requests, at most */

struct replay;

/*
 * Reads the requests of config->replay; if they are sent at their own times, only those that are
 * due before the end of the run. Returns 0, -EINVAL, -E2BIG, -ENOMEM or the error of reading, with
 * a sentence in `why`. Borrows the path.
 */
int replay_read(struct replay **out, const struct load_config *config, struct strbuf *why);
void replay_free(struct replay *replay);

/*
 * Checks that the requests are of the target's protocol, and that its URL and the fields of its
 * workload go with them. Returns 0, or -EINVAL with a sentence in `why`.
 */
int replay_check(const struct replay *replay, const struct target *target,
		 const struct workload *workload, struct strbuf *why);

/* Returns the largest size of a request, in bytes, without the fields that a target adds. */
size_t replay_request_max(const struct replay *replay);

/* Encodes request number out->number of workload->replay; returns as protocol_encode() does. */
int replay_encode(const struct workload *workload, void *buffer, size_t cap,
		  struct encoded_request *out);

#endif
