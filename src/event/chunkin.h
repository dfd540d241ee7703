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
	uint32_t stream; /* stream number of the file; 0: damaged header, and no chunk read yet */
	uint64_t start;		/* offset from which on chunks begin, or may begin */
	unsigned char *raw;	/* payload loaded last; EVENT_BLOCK_SIZE bytes, aligned to 8 */
	ZSTD_DCtx *zstd;
	uint64_t searched;	/* bytes of damaged chunks searched since event_in_restart() */
	uint64_t examined;	/* bytes compared, checksummed or decoded since event_in_init() */
};

/* Returns 0 or -errno. Call event_in_release() in either case. */
int event_in_init(struct event_in *in, int fd);
/* Like event_in_init(), for an input that event_input_space() lets the caller fill. */
int event_in_init_fed(struct event_in *in);
void event_in_release(struct event_in *in);

/* Begins another pass from `start`: resets the count of searched bytes. */
void event_in_restart(struct event_in *in);

/*
 * Reads the file header. Returns 0, also for a damaged header, which `damage` counts; -ENOEXEC: no
 * event file; -EPROTONOSUPPORT: newer version or other byte order; or the error of reading.
 */
int event_in_header(struct event_in *in, struct event_file_header *header,
		    struct event_damage *damage);

enum event_found {
	EVENT_FOUND_CHUNK,	/* a chunk with a valid header */
	EVENT_FOUND_END,	/* the end mark */
	EVENT_FOUND_NOTHING,	/* the input ends */
};

/*
 * Finds the next chunk or end mark at or after `*offset` and moves `*offset` there; counts skipped
 * bytes in `damage`. Fills in `chunk` or `end`, whichever was found.
 */
enum event_found event_in_find(struct event_in *in, uint64_t *offset, struct event_chunk *chunk,
			       struct event_end *end, struct event_damage *damage);

/* Returns whether a valid chunk header is exactly at `offset`. */
bool event_in_at(struct event_in *in, uint64_t offset, struct event_chunk *chunk);

/* Decodes the payload of the chunk at `offset` into `raw`. Returns false if it is damaged. */
bool event_in_load(struct event_in *in, uint64_t offset, const struct event_chunk *chunk);

/*
 * Returns where to search the chunk after a damaged one. If bytes of the damaged chunk are missing,
 * the next chunk begins early: then the search begins behind the damaged chunk's magic.
 */
uint64_t event_in_skip(struct event_in *in, uint64_t offset, const struct event_chunk *chunk);

/*
 * Makes a block of a loaded chunk. Invalid records and unknown kinds are counted in `damage` and
 * excluded. Returns false if no record is valid, or if the chunk has no events.
 */
bool event_in_block(const struct event_in *in, const struct event_chunk *chunk,
		    struct event_block *block, struct event_damage *damage);

#endif
