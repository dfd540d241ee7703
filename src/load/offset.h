/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far another host's monotonic clock is from ours, by asking it for the time: it was read
 * between our sending and our receiving, so each answer bounds the offset by itself, however
 * lopsided the way there and back is; the quickest answer bounds it best (as in NTP's clock filter,
 * RFC 5905, section 10, but without its assumption of symmetry).
 *
 * The offset is settled before the run, so that all times of the run are converted alike. Later
 * answers don't change it; they tell how far it has become off since the clocks drift apart.
 */
#ifndef HOSTLAT_LOAD_OFFSET_H
#define HOSTLAT_LOAD_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/* Later answers are judged in groups of so many, each by its best. */
#define OFFSET_GROUP 8

struct offset {
	bool known;
	int64_t ns;            /* their clock minus ours */
	uint64_t error_ns;     /* ns is at most so far off, at any time up to the last full group */
	uint64_t rtt_ns;       /* of the answer that ns is by */
	bool settled;
	uint64_t group_ns;     /* the best bound of the current group */
	uint32_t n_group;
};

/* Both run on one host: there is nothing to ask. */
void offset_init_same(struct offset *offset);

/*
 * An answer: we sent at `sent` and had it at `received`, by our clock; `theirs` is by theirs.
 * -EINVAL, and nothing is changed, if that can't be.
 */
int offset_add(struct offset *offset, uint64_t sent, uint64_t theirs, uint64_t received);

/* From now on the offset is fixed. */
void offset_settle(struct offset *offset);

/* Our time of theirs, and the other way round. False: there is no such time. */
bool offset_to_ours(const struct offset *offset, uint64_t theirs, uint64_t *ours);
bool offset_to_theirs(const struct offset *offset, uint64_t ours, uint64_t *theirs);

#endif
