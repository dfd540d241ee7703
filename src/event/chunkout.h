/* SPDX-License-Identifier: Apache-2.0 */
/* The lower half of the file writer: writes chunks to a descriptor, and the index of the chunks. */
#ifndef HOSTLAT_EVENT_CHUNKOUT_H
#define HOSTLAT_EVENT_CHUNKOUT_H

#include <sys/types.h>
#include <zstd.h>

#include "event/format.h"

struct event_out {
	int fd;
	off_t start;		/* offset of the header in a regular file; -1: not seekable */
	uint64_t offset;	/* bytes written in whole headers and chunks */
	uint64_t seq;
	uint32_t stream;
	int error;		/* 0 or the first failure; later writes are dropped */
	ZSTD_CCtx *zstd;	/* NULL: no compression */
	unsigned char *packed;	/* EVENT_BLOCK_SIZE bytes */
	struct event_index_entry *entries;	/* chunks since the last index chunk */
	uint32_t n_entries;
	uint64_t index;		/* offset of the last index chunk; 0: none */
};

/*
 * Writes the file header. The caller sets clock, start and stream (0: chosen at random); this
 * function fills in the rest. Returns 0 or -errno. Call event_out_release() in either case.
 */
int event_out_init(struct event_out *out, int fd, struct event_file_header *header, bool raw);
void event_out_release(struct event_out *out);

/*
 * Writes one chunk. The caller sets kind, version, core, domain, flags, record_size, count, n_open,
 * raw_size and times of `chunk`; this function fills in the rest.
 */
void event_out_chunk(struct event_out *out, struct event_chunk *chunk, const void *payload);

/* Writes the rest of the index and the end mark. `dict`: offset of the dictionary; 0: none. */
void event_out_end(struct event_out *out, uint64_t dict);

#endif
