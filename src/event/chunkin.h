/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lower half of the file reader: finds whole chunks in bytes that may be damaged, checks and
 * decodes them.
 */
#ifndef HOSTLAT_EVENT_CHUNKIN_H
#define HOSTLAT_EVENT_CHUNKIN_H

#include <zstd.h>

#include "event/format.h"
#include "event/input.h"

struct event_in {
	struct event_input input;
	uint32_t stream;	/* the file's; 0: its header is damaged and no chunk was met yet */
	uint64_t start;		/* where chunks begin, or may begin */
	unsigned char *raw;	/* the payload last loaded, EVENT_BLOCK_SIZE bytes, aligned to 8 */
	ZSTD_DCtx *zstd;
	uint64_t searched;	/* bytes of damaged chunks that were searched in this pass */
	uint64_t examined;	/* bytes compared, summed up or decoded since event_in_init() */
};

/* Returns 0 or -errno; release in any case. */
int event_in_init(struct event_in *in, int fd);
/* The same over an input that is fed. */
int event_in_init_fed(struct event_in *in);
void event_in_release(struct event_in *in);

/* Begins another pass from `start`. */
void event_in_restart(struct event_in *in);

/* Reads the file header. -ENOEXEC, -EPROTONOSUPPORT as event_reader_open(); damage is counted. */
int event_in_header(struct event_in *in, struct event_file_header *header,
		    struct event_damage *damage);

enum event_found {
	EVENT_FOUND_CHUNK,	/* its header is whole */
	EVENT_FOUND_END,	/* the end mark */
	EVENT_FOUND_NOTHING,	/* no more bytes */
};

/*
 * The next chunk at or after `*offset`, which is moved to it; what had to be skipped is counted.
 * Of `chunk` and `end` the one that was found is filled in.
 */
enum event_found event_in_find(struct event_in *in, uint64_t *offset, struct event_chunk *chunk,
			       struct event_end *end, struct event_damage *damage);

/* Whether a whole chunk header is just at `offset`. */
bool event_in_at(struct event_in *in, uint64_t offset, struct event_chunk *chunk);

/* Decodes the payload of the chunk at `offset` into `raw`. False: it is damaged. */
bool event_in_load(struct event_in *in, uint64_t offset, const struct event_chunk *chunk);

/*
 * Where to look for the chunk after one that cannot be used. If bytes were cut out of it, the next
 * one begins earlier than its header says: then that is searched for, from just behind its magic.
 */
uint64_t event_in_skip(struct event_in *in, uint64_t offset, const struct event_chunk *chunk);

/*
 * Makes a block of a loaded chunk. What contradicts itself or is not known here is counted and left
 * out. False: nothing is left, or the chunk is none of events.
 */
bool event_in_block(const struct event_in *in, const struct event_chunk *chunk,
		    struct event_block *block, struct event_damage *damage);

#endif
