/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files of recorded requests with their times, row by row. The first line tells the format:
 *
 *	CSV (RFC 4180)   the header names the columns: time, method, path, headers, body, in any
 *	                 order; the last two may be missing. `time` is in seconds since any origin,
 *	                 with a fraction; `headers` has lines "NAME: VALUE".
 *	cache-trace      no header; timestamp,key,key size,value size,client id,operation,TTL, with
 *	                 whole seconds: the format of github.com/twitter/cache-trace
 *
 * Times must ascend. Memory is bounded by the longest row (REPLAY_ROW_MAX).
 */
#ifndef HOSTLAT_LOAD_REPLAY_FILE_H
#define HOSTLAT_LOAD_REPLAY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define REPLAY_ROW_MAX (64 << 20) /* bytes of a row */
#define REPLAY_COLUMNS 5          /* columns of the CSV format */

enum replay_format { REPLAY_NONE, REPLAY_HTTP, REPLAY_CACHE };

/* A field of a row: it ends with a zero byte, and may contain others. */
struct replay_field {
	char *text;
	size_t size; /* bytes, without the final zero */
};

/* A recorded request. Fields belong to the reader, until the next row is read. */
struct replay_row {
	uint64_t at_ns; /* time since the first row, ns */
	uint64_t line;  /* number of the row's first line, from 1 */
	struct replay_field method, path, headers, body; /* REPLAY_HTTP; empty if missing */
	struct replay_field key, operation;              /* REPLAY_CACHE */
	uint64_t value_size, ttl_s;                      /* REPLAY_CACHE: bytes, seconds */
};

struct replay_file;

/* Whether the file looks like one of the formats; false if it cannot be read. */
bool replay_file_is(const char *path);

/*
 * Opens a file and reads its header. Returns 0, -EINVAL or the error of reading, with a sentence in
 * `why` that begins with the path. `path` is borrowed.
 */
int replay_file_open(struct replay_file **out, const char *path, struct strbuf *why);
void replay_file_close(struct replay_file *file);

enum replay_format replay_file_format(const struct replay_file *file);

/* Reads the next row. Returns 1, 0 at the end, or an error with "PATH:LINE: ..." in `why`. */
int replay_file_next(struct replay_file *file, struct replay_row *row, struct strbuf *why);

/* Writes "PATH:LINE: TEXT" for a row. Returns -EINVAL. */
int replay_file_refuse(const struct replay_file *file, const struct replay_row *row,
		       const char *text, struct strbuf *why);

#endif
