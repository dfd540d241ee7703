/* SPDX-License-Identifier: Apache-2.0 */
/* Opens recordings that a command reads, and parses percentile slices of their messages. */
#ifndef HOSTLAT_CMD_RECORDED_FILE_H
#define HOSTLAT_CMD_RECORDED_FILE_H

#include <stdbool.h>

#include "event/reader.h"

/* Returns why the file is not readable as a recording; `err` is the -errno of its reader. */
const char *recorded_file_why(const char *path, int err);

/* Returns the command that shows this recording, such as "watch --from". */
const char *recorded_file_words(const char *path);

/*
 * Returns whether the file has events of this kind (EV_CONN; EV_HIST for watch). Returns false,
 * after a message, if only another command can show it; true for a pipe, which cannot be checked.
 */
bool recorded_file_is_of(const char *path, uint16_t kind);

/* Opens a recording. Returns NULL after a message. */
struct event_reader *recorded_file_open(const char *path);

/* Logs why a file could not be analyzed; `verb` as in "cannot diagnose FILE". */
void recorded_file_failed(const char *path, const char *verb, int err);

/*
 * Calls `feed` for each event of the low-rate kinds (facts, names, intervals ...), in order, until
 * a call returns nonzero. Returns 0, that nonzero value, or the reader's -errno.
 */
int recorded_file_events(struct event_reader *reader,
			 int (*feed)(void *ctx, const struct event *event), void *ctx);

/*
 * Passes all blocks of a recording to `feed` (see struct live_watch_config), then sets *damage.
 * Returns EXIT_OK or, after a message, EXIT_CANNOT.
 */
int recorded_file_read(const char *path, int (*feed)(void *ctx, const struct event_block *block),
		       void *ctx, struct event_damage *damage);

/* Parses ascending percentiles such as "99.9:100" into 0..1. Returns false for anything else. */
bool recorded_slice_parse(const char *text, double *from, double *to);

#endif
