/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times in which the connections of a level (a class of activity) were not sampled, because a pass
 * over them was too expensive. Pure functions.
 */
#ifndef HOSTLAT_PROBE_CONN_COVER_H
#define HOSTLAT_PROBE_CONN_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONN_GAPS 64

struct conn_gap {
	uint64_t from, to;
	uint64_t ns; /* ns of from..to that no sample represents */
};

/* Times in which the connections of an activity level were not sampled. Zero-initialized. */
struct conn_cover {
	struct conn_gap gaps[CONN_GAPS]; /* ring, ordered by time, without overlap */
	size_t n;                        /* number of gaps added so far */
	uint64_t forgotten;              /* end of the last gap that the ring has overwritten */
	uint64_t since;                  /* begin of the current gap; 0: none */
};

/* Records whether connections of an activity level are sampled from `now` on. */
void conn_cover_set(struct conn_cover *cover, bool sampled, uint64_t now);

/*
 * Adds a gap: no sample represents `ns` of from..to, although samples were taken. `from` is not
 * before the last gap's end.
 */
void conn_cover_gap(struct conn_cover *cover, uint64_t from, uint64_t to, uint64_t ns);

/* Returns the ns of from..to that no sample represents. */
uint64_t conn_cover_missing(const struct conn_cover *cover, uint64_t from, uint64_t to);

#endif
