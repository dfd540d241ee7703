/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings as inputs of a command, and slices of their messages. */
#ifndef HOSTLAT_CMD_RECORDED_FILE_H
#define HOSTLAT_CMD_RECORDED_FILE_H

#include <stdbool.h>

#include "event/reader.h"

/* Returns why a file is not readable as a recording, for the -errno of its reader. */
const char *recorded_file_why(const char *path, int err);

/* Returns the command that shows a recording of this content, such as "watch --from". */
const char *recorded_file_words(const char *path);

/*
 * False, after a message, of a file that has no events of this kind (EV_CONN; EV_HIST of watch)
 * but what another command shows. A stream can't be asked.
 */
bool recorded_file_is_of(const char *path, uint16_t kind);

/* Opens a recording; NULL after a message. */
struct event_reader *recorded_file_open(const char *path);

/* Logs why a file could not be analysed; `verb` as in "cannot diagnose FILE". */
void recorded_file_failed(const char *path, const char *verb, int err);

/*
 * Calls `feed` for each event of the low-rate kinds, in order, until it returns other than 0. 0,
 * that, or -errno of the reader.
 */
int recorded_file_events(struct event_reader *reader,
			 int (*feed)(void *ctx, const struct event *event), void *ctx);

/*
 * Passes all blocks of a recording to `feed`, which is as in struct live_watch_config; then the
 * damage. Returns EXIT_OK or, after a message, EXIT_CANNOT.
 */
int recorded_file_read(const char *path, int (*feed)(void *ctx, const struct event_block *block),
		       void *ctx, struct event_damage *damage);

/* Parses "99.9:100", ascending percentiles, into 0..1. Returns false for anything else. */
bool recorded_slice_parse(const char *text, double *from, double *to);

#endif
