/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line on stderr that says how far a long piece of work is: only if stderr is a terminal, and
 * only once the work has taken longer than a second. progress_update() may be called as often as
 * the work likes; it draws at most five times a second.
 */
#ifndef HOSTLAT_BASE_PROGRESS_H
#define HOSTLAT_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;    /* "reading", not owned */
	uint64_t total;      /* 0: not known */
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	uint64_t drawn_ns;   /* 0: nothing is on the screen */
	bool enabled;
};

void progress_begin(struct progress *progress, const char *what, uint64_t total, bool quiet);
void progress_update(struct progress *progress, uint64_t done);

/* Wipes the line. Accepts a zeroed struct. */
void progress_end(struct progress *progress);

#endif
