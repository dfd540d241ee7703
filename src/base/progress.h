/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on stderr with the progress of a long operation, only if stderr is a terminal and the
 * operation has taken more than a second. progress_text() may be called at any rate; it draws at
 * most five times a second. Times are in ns of any steady clock.
 */
#ifndef HOSTLAT_BASE_PROGRESS_H
#define HOSTLAT_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	uint64_t started_ns;
	uint64_t drawn_ns; /* time of the last drawing; 0: no line is drawn */
	bool enabled;
};

void progress_begin(struct progress *progress, bool quiet, uint64_t now_ns);

/* Draws "hostlat: TEXT" in place of the previous line. */
void progress_text(struct progress *progress, uint64_t now_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Clears the line. Accepts a zeroed struct. */
void progress_end(struct progress *progress);

#endif
