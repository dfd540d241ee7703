/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads event files. Nothing in a file is trusted: every length is checked against a constant and
 * against what is there, checksums before contents, contents before a caller sees them. Damage is
 * skipped up to the next whole chunk and counted (event_source_damage()); what is returned is
 * right.
 *
 * Memory: two chunks, and for seek() an index of 48 bytes a chunk. A file of more than 2^20 chunks
 * (64 GiB before compression) can be read but not sought in: -EFBIG.
 */
#ifndef HOSTLAT_EVENT_READER_H
#define HOSTLAT_EVENT_READER_H

#include "event/source.h"

struct event_reader;

struct event_reader_stats {
	uint64_t chunks;	/* decoded since opening */
	uint64_t bytes;		/* bytes of these chunks before compression */
	uint64_t examined;	/* bytes compared, summed up or decoded */
	uint64_t copied;	/* bytes read, or moved in the buffer */
	uint32_t indexed;	/* chunks in the index; 0 before the first seek */
	bool index_rebuilt;	/* the file had none, or not a whole one */
};

/*
 * Opens a file, or reads standard input for "-". Errors a caller should tell apart: -ENOENT and
 * other errors of open(); -ENOEXEC: not an event file; -EPROTONOSUPPORT: one of a newer version or
 * of the other byte order. A damaged or cut file opens.
 */
int event_reader_open(struct event_reader **out, const char *path);

/* The same on a descriptor, which stays the caller's. */
int event_reader_new(struct event_reader **out, int fd);

/* Another position in the same file, sharing its index. -ESPIPE for a pipe. */
int event_reader_dup(struct event_reader **out, struct event_reader *reader);

void event_reader_free(struct event_reader *reader);

/* Valid as long as the reader; freeing it frees the reader. */
struct event_source *event_reader_source(struct event_reader *reader);

void event_reader_stats(const struct event_reader *reader, struct event_reader_stats *stats);

/*
 * The cores that have blocks of a kind, ascending, EVENT_CORE_NONE included: at most `max` of them
 * into `cores`. Returns how many there are, or -errno as seek() does.
 */
int event_reader_cores(struct event_reader *reader, uint16_t kind, uint32_t *cores, uint32_t max);

struct event_dict;

/*
 * Adds all names of the file to `dict`, from the dictionary at its end or, without one, by reading
 * it through; the position is kept. For use with seek(); who reads from front to back meets each
 * EV_NAME before its use. Returns 0 or -errno; -ESPIPE for a pipe.
 */
int event_reader_names(struct event_reader *reader, struct event_dict *dict);

#endif
