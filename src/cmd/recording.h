/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording of a live run. It is always a new file that replaces an older one. A write error is
 * logged once; the measurement then continues without the recording, and the part written so far
 * stays readable.
 */
#ifndef HOSTLAT_CMD_RECORDING_H
#define HOSTLAT_CMD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outfile.h"
#include "event/writer.h"

struct recording {
	const char *path;            /* NULL: no recording */
	int fd;                      /* the writer's descriptor: memory until recording_begin() */
	struct outfile file;         /* the file; open from recording_open() on */
	bool begun;
	bool nameless;               /* the file could not get its name: no recording remains */
	struct event_writer *writer; /* NULL: no recording, or a write has failed */
	int error;                   /* 0, or -errno: the recording is incomplete */
	bool full;                   /* the recording is incomplete: it reached its size limit */
	uint64_t bytes;              /* size of the closed file in bytes */
};

/* Returns false, after a message, if recording and result are the same file. */
bool recording_is_apart(const char *path, const char *output);

/*
 * Opens a recording. `path` NULL: no recording, and all functions do nothing. `result_fd` is the
 * descriptor of the result. Events are buffered in memory until recording_begin(), so that a run
 * that cannot start leaves an existing file unchanged. Returns 0 or, after a message, -errno. The
 * caller calls recording_close() in either case.
 */
int recording_open(struct recording *recording, const char *path, uint64_t size_limit,
		   int result_fd);

/* Creates the file at the start of the run. Logs a failure and stores it in `error`. */
void recording_begin(struct recording *recording);

/* Returns whether the whole block fits. If not, sets `full`, and nothing more is recorded. */
bool recording_fits(struct recording *recording, const struct event_block *block);

void recording_copy(struct recording *recording, const struct event_block *block);

/* Handles an error of the writer (0: none): logs the first error and stores it in `error`. */
void recording_failed(struct recording *recording, int err);

/*
 * Writes buffered events to the file. Otherwise events of different cores or kinds may change their
 * order: with this call, events copied before it precede events copied later.
 */
void recording_flush(struct recording *recording);

/* Completes the file and sets `bytes`. Accepts a recording that was not opened. */
void recording_close(struct recording *recording);

#endif
