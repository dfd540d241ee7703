/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the offset between another host's monotonic clock and this host's by queries. The other
 * clock is read between this host's sending and receiving, so each answer bounds the offset, even
 * on an asymmetric network. The fastest answer gives the tightest bound (as in NTP's clock filter,
 * RFC 5905, section 10, but without assuming symmetry).
 *
 * The offset is fixed before the run, so that all times are converted alike. Later answers only
 * update its error, as the clocks drift apart.
 */
#ifndef HOSTLAT_LOAD_OFFSET_H
#define HOSTLAT_LOAD_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Number of answers after which the error is updated, once offset_settle() was called: the best
 * answer of each such group counts.
 */
#define OFFSET_GROUP 8

struct offset {
	bool known;
	int64_t ns;            /* offset: the other host's clock minus this host's */
	/* largest error of `ns`, including clock drift up to the last full group of answers */
	uint64_t error_ns;
	uint64_t rtt_ns;       /* round-trip time of the answer that determined `ns` */
	bool settled;
	uint64_t group_ns;     /* smallest error of `ns` by an answer of the current group */
	uint32_t n_group;
};

/* Initializes a known offset of 0, for a process on the same host. */
void offset_init_same(struct offset *offset);

/*
 * Adds an answer: the query was sent at `sent` and the answer received at `received`, by this
 * host's clock; `theirs` is the other clock. Returns 0, or -EINVAL for impossible times.
 */
int offset_add(struct offset *offset, uint64_t sent, uint64_t theirs, uint64_t received);

/* Fixes the offset: later answers only update the error. */
void offset_settle(struct offset *offset);

/* Convert a time of the other host's clock to this host's, or back; false: invalid result. */
bool offset_to_ours(const struct offset *offset, uint64_t theirs, uint64_t *ours);
bool offset_to_theirs(const struct offset *offset, uint64_t ours, uint64_t *theirs);

#endif
