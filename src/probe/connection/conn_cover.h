/* SPDX-License-Identifier: Apache-2.0 */
/* When connections of a level could not be sampled, as a walk over them was too dear. Pure. */
#ifndef HOSTLAT_PROBE_CONN_COVER_H
#define HOSTLAT_PROBE_CONN_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONN_GAPS 64

struct conn_gap {
	uint64_t from, to;
	uint64_t ns; /* of it, that no sample stands for */
};

/* Begins zeroed. */
struct conn_cover {
	struct conn_gap gaps[CONN_GAPS]; /* a ring, in order, without overlap */
	size_t n;                        /* ever */
	uint64_t forgotten;              /* what was before may have been a gap */
	uint64_t since;                  /* one that goes on; 0: none */
};

/* From `now` on they are sampled, or not. */
void conn_cover_set(struct conn_cover *cover, bool sampled, uint64_t now);

/* Of from..to, in which they were, no sample stands for `ns`; not before the last one's end. */
void conn_cover_gap(struct conn_cover *cover, uint64_t from, uint64_t to, uint64_t ns);

/* Of from..to, what no sample stands for. */
uint64_t conn_cover_missing(const struct conn_cover *cover, uint64_t from, uint64_t to);

#endif
