/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads event files. Nothing in a file is trusted: every length is checked against a constant and
 * against the bytes available, checksums before contents, contents before a caller sees them.
 * Damage is skipped up to the next whole chunk and counted (event_source_damage()); returned blocks
 * are valid.
 *
 * Memory: two chunks, and for seek() an index of 48 bytes per chunk. A file of more than 2^20
 * chunks (64 GiB before compression) can be read but not sought: -EFBIG.
 */
#ifndef HOSTLAT_EVENT_READER_H
#define HOSTLAT_EVENT_READER_H

#include "event/source.h"

struct event_reader;

struct event_reader_stats {
	uint64_t chunks;	/* chunks decoded since opening */
	uint64_t bytes;		/* bytes of decoded chunks */
	uint64_t examined;	/* bytes compared, checksummed or decoded */
	uint64_t copied;	/* bytes read, or moved in the buffer */
	uint32_t indexed;	/* chunks in the index; 0 before the first seek */
	bool index_rebuilt;	/* the file had no index, or a damaged one */
};

/*
 * Opens a file, or reads standard input for "-". Returns 0; -ENOENT and other errors of open();
 * -ENOEXEC: no event file; -EPROTONOSUPPORT: newer version or other byte order; or another -errno.
 * A damaged or cut file opens.
 */
int event_reader_open(struct event_reader **out, const char *path);

/* Like event_reader_open(), on a descriptor that the caller still owns. */
int event_reader_new(struct event_reader **out, int fd);

/* Creates another reader of the same file, which shares its index. -ESPIPE for a pipe. */
int event_reader_dup(struct event_reader **out, struct event_reader *reader);

void event_reader_free(struct event_reader *reader);

/* Returns the reader's source; freeing the source frees the reader. */
struct event_source *event_reader_source(struct event_reader *reader);

void event_reader_stats(const struct event_reader *reader, struct event_reader_stats *stats);

/*
 * Stores the cores that have blocks of a kind, ascending, with EVENT_CORE_NONE, into `cores`, at
 * most `max`. Returns the number of all such cores, or -errno as seek().
 */
int event_reader_cores(struct event_reader *reader, uint16_t kind, uint32_t *cores, uint32_t max);

struct event_dict;

/*
 * Adds all names of the file to `dict`, from the dictionary at its end or, without one, by reading
 * all low-rate chunks; the position stays. For use with seek(): a reader from front to back gets
 * each EV_NAME before its use. Returns 0 or -errno; -ESPIPE for a pipe.
 */
int event_reader_names(struct event_reader *reader, struct event_dict *dict);

#endif
