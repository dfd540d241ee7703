/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the offset of another host's monotonic clock by queries. The other clock was read
 * between our sending and receiving, so each answer bounds the offset, however asymmetric the
 * network is; the fastest answer gives the best bound (as in NTP's clock filter, RFC 5905, section
 * 10, but without assuming symmetry).
 *
 * The offset is fixed before the run, so that all times of the run are converted alike. Later
 * answers only update its error, as the clocks drift apart.
 */
#ifndef HOSTLAT_LOAD_OFFSET_H
#define HOSTLAT_LOAD_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/* Later answers are evaluated in groups of this size, each by its best answer. */
#define OFFSET_GROUP 8

struct offset {
	bool known;
	int64_t ns;            /* their clock minus ours */
	uint64_t error_ns;     /* largest error of ns up to the last full group */
	uint64_t rtt_ns;       /* round trip of the answer that gave ns */
	bool settled;
	uint64_t group_ns;     /* smallest error of the current group */
	uint32_t n_group;
};

/* Initializes the offset of a process on the same host: 0. */
void offset_init_same(struct offset *offset);

/*
 * Adds an answer: query sent at `sent` and answer received at `received` by our clock; `theirs` is
 * the other clock. Returns 0, or -EINVAL for impossible times, without a change.
 */
int offset_add(struct offset *offset, uint64_t sent, uint64_t theirs, uint64_t received);

/* Fixes the offset. */
void offset_settle(struct offset *offset);

/* Convert a time between the two clocks. Return false if there is no such time. */
bool offset_to_ours(const struct offset *offset, uint64_t theirs, uint64_t *ours);
bool offset_to_theirs(const struct offset *offset, uint64_t ours, uint64_t *theirs);

#endif
