/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line on stderr that says how far a long piece of work is: only if stderr is a terminal, and
 * only once the work has taken longer than a second. progress_text() may be called as often as the
 * work likes; it draws at most five times a second. Times are the caller's, of any steady clock.
 */
#ifndef HOSTLAT_BASE_PROGRESS_H
#define HOSTLAT_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	uint64_t started_ns;
	uint64_t drawn_ns; /* 0: nothing is on the screen */
	bool enabled;
};

void progress_begin(struct progress *progress, bool quiet, uint64_t now_ns);

/* "hostlat: TEXT", in the place of what stood there. */
void progress_text(struct progress *progress, uint64_t now_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Wipes the line. Accepts a zeroed struct. */
void progress_end(struct progress *progress);

#endif
