/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings as inputs of a command, and slices of their messages. */
#ifndef HOSTLAT_CMD_RECORDED_FILE_H
#define HOSTLAT_CMD_RECORDED_FILE_H

#include <stdbool.h>

#include "event/reader.h"

/* Why a file can't be read as a recording, for the -errno of its reader. */
const char *recorded_file_why(const char *path, int err);

/* The words of the command that shows a recording by what is in it: "watch --from". */
const char *recorded_file_words(const char *path);

/*
 * False, after a message, of a file that has no events of this kind (EV_CONN; EV_HIST of watch)
 * but what another command shows. A stream can't be asked.
 */
bool recorded_file_is_of(const char *path, uint16_t kind);

/* NULL after a message. */
struct event_reader *recorded_file_open(const char *path);

/* Why a file could not be analysed; `verb` as in "can't diagnose FILE". */
void recorded_file_failed(const char *path, const char *verb, int err);

/*
 * Calls `take` for each event of the low-rate kinds, in order, until it returns other than 0. 0,
 * that, or -errno of the reader.
 */
int recorded_file_events(struct event_reader *reader,
			 int (*feed)(void *ctx, const struct event *event), void *ctx);

/*
 * All of a recording, block by block, into `take`, which is as in struct live_watch_config; then
 * what damage there was. Returns EXIT_OK or, after a message, EXIT_CANNOT.
 */
int recorded_file_read(const char *path, int (*feed)(void *ctx, const struct event_block *block),
		       void *ctx, struct event_damage *damage);

/* "99.9:100": percentiles, ascending, as 0..1. False: it is none. */
bool recorded_slice_parse(const char *text, double *from, double *to);

#endif
