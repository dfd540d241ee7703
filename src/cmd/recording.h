/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that a live run is kept in. One that fails is said once and is not written any further;
 * the measurement goes on, and what was written until then can be read. It is always a new file,
 * which takes the place of an older one.
 */
#ifndef HOSTLAT_CMD_RECORDING_H
#define HOSTLAT_CMD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outfile.h"
#include "event/writer.h"

struct recording {
	const char *path;            /* NULL: nothing is recorded */
	int fd;                      /* descriptor that the writer writes to */
	struct outfile file;         /* holds the descriptor from recording_begin() on */
	bool begun;
	bool nameless;               /* the file could not be given its name */
	struct event_writer *writer; /* NULL: no recording, or writing has failed */
	int error;                   /* -errno: why the recording is incomplete */
	bool full;                   /* incomplete: the size limit was reached */
	uint64_t bytes;              /* size of the file, once closed */
};

/* Returns false, with a message, if recording and result would go into one file. */
bool recording_is_apart(const char *path, const char *output);

/*
 * `path` NULL: every function does nothing. `result_fd`: where the result is written. Until
 * recording_begin() an older file is left as it is, and what is recorded is kept in memory: a run
 * that can't start must not destroy the last one. Returns 0 or, after a message, -errno. To be
 * closed in either case.
 */
int recording_open(struct recording *recording, const char *path, uint64_t size_limit,
		   int result_fd);

/* Creates the file at the start of the run. A failure is logged, and kept in `error`. */
void recording_begin(struct recording *recording);

/*
 * Returns whether the whole block fits into the file. If not, the file is full and takes no more.
 */
bool recording_fits(struct recording *recording, const struct event_block *block);

void recording_copy(struct recording *recording, const struct event_block *block);

/* Reports an error of the writer, 0 for none: the first is logged, and kept in `error`. */
void recording_failed(struct recording *recording, int err);

/* Events copied before this call precede those copied later, whatever their core and kind. */
void recording_flush(struct recording *recording);

/* Accepts one that was not opened. */
void recording_close(struct recording *recording);

#endif
