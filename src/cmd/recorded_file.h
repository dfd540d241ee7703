/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings as inputs of a command, and slices of their messages. */
#ifndef HOSTLAT_CMD_RECORDED_FILE_H
#define HOSTLAT_CMD_RECORDED_FILE_H

#include <stdbool.h>

#include "event/reader.h"

/* NULL after a message. */
struct event_reader *recorded_file_open(const char *path);

/* Why a file could not be analysed; `verb` as in "can't diagnose FILE". */
void recorded_file_failed(const char *path, const char *verb, int err);

/*
 * Calls `take` for each event of the low-rate kinds, in order, until it returns other than 0. 0,
 * that, or -errno of the reader.
 */
int recorded_file_events(struct event_reader *reader,
			 int (*take)(void *ctx, const struct event *event), void *ctx);

/*
 * All of a recording, block by block, into `take`, which is as in struct session_config; then what
 * damage there was. Returns EXIT_OK or, after a message, EXIT_CANNOT.
 */
int recorded_file_read(const char *path, int (*take)(void *ctx, const struct event_block *block),
		       void *ctx, struct event_damage *damage);

/* "99.9:100": percentiles, ascending, as 0..1. False: it is none. */
bool recorded_slice_parse(const char *text, double *from, double *to);

#endif
