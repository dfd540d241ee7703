/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on stderr with the progress of a long operation, only if stderr is a terminal and the
 * operation has taken more than a second. progress_text() may be called at any rate; it draws at
 * most five times a second, and no more than fits the terminal. Times are in ns of any steady
 * clock.
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

/* Draws as progress_text(), whenever the last line was drawn: the next one may come late. */
void progress_phase(struct progress *progress, uint64_t now_ns, const char *text);

/* Clears what is drawn of any line, which is drawn again at its next text; for messages. */
void progress_clear(void);

/* Clears the line. Accepts a zeroed struct. */
void progress_end(struct progress *progress);

#endif
