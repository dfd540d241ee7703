/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file format, shared by writer and reader. docs/design/event-format.md has the reasons.
 *
 *	file header | chunk | chunk | ... | index and dictionary chunks | end mark
 *
 * Everything is in the writer's byte order, which the header states. A chunk is a header and a
 * payload; struct event_block describes the decoded payload: open spans, then records.
 * Padding and unused bits are 0.
 *
 * Checksums are CRC-32: zlib, which libbpf needs anyway, has it; CRC-32 finds every error burst of
 * up to 32 bits, which a hash of the same size does not; and a random match must also repeat the
 * magic and the stream number.
 */
#ifndef HOSTLAT_EVENT_FORMAT_H
#define HOSTLAT_EVENT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "event/source.h"

/* 0x89 and the line ends reveal a file that went through a text-mode transfer (as in PNG). */
#define EVENT_FILE_MAGIC "\x89HLAT\r\n\x1a"
#define EVENT_FILE_VERSION 1
#define EVENT_BYTE_ORDER 0x01020304u
#define EVENT_CHUNK_MAGIC 0x4b4c4863u	/* "chLK" */
#define EVENT_END_MAGIC 0x4e4c4865u	/* "ehLN" */

struct event_file_header {
	unsigned char magic[8];
	uint32_t byte_order;
	uint16_t version;
	uint16_t size;		/* header size; other sizes: a future version */
	uint64_t started_ns;	/* CLOCK_REALTIME of the start */
	uint64_t clock_error_ns;
	uint32_t clock;		/* enum clock_domain */
	uint32_t stream;	/* repeated in every chunk: identifies this file's chunks */
	char creator[20];	/* the program's version, NUL-padded */
	uint32_t crc;		/* checksum of all bytes before it */
};

enum event_codec { EVENT_CODEC_RAW, EVENT_CODEC_ZSTD };

enum {
	CHUNK_REPEAT = 1,	/* dictionary at the end: repeats earlier names */
};

/* Kind of index chunks: far from the kinds of events. */
#define EVENT_CHUNK_INDEX 0xfff0

struct event_chunk {
	uint32_t magic;
	uint32_t stream;
	uint16_t kind;		/* EV_NONE: low-rate records of any kind */
	uint16_t version;	/* version of a block's records; 0: each has its own */
	uint32_t core;
	uint16_t domain;
	uint8_t codec;		/* enum event_codec */
	uint8_t flags;		/* 0 or CHUNK_REPEAT */
	uint32_t record_size;	/* bytes; 0: records have headers of their own */
	uint32_t count;		/* number of records */
	uint32_t n_open;	/* number of struct event_open before the records */
	uint32_t raw_size;	/* bytes of the decoded payload, <= EVENT_BLOCK_SIZE */
	uint32_t stored_size;	/* bytes of the stored payload, <= raw_size */
	uint64_t seq;		/* 0, 1, 2 ... in file order */
	uint64_t first;
	uint64_t last;
	uint64_t reach;
	uint32_t payload_crc;	/* checksum of the stored payload */
	uint32_t header_crc;	/* checksum of all bytes before it */
};

/* Begin of an index chunk's payload; entries of the chunks since the last index chunk follow. */
struct event_index_head {
	uint64_t previous;	/* offset of the previous index chunk; 0: none */
};

struct event_index_entry {
	uint64_t offset;	/* file offset of the chunk */
	uint64_t first;
	uint64_t last;
	uint64_t reach;
	uint32_t core;
	uint16_t kind;
	uint16_t domain;
	uint32_t stored_size;
	uint32_t flags;		/* 0 or CHUNK_REPEAT, as in the chunk's header */
};

#define EVENT_INDEX_ENTRIES 1024u	/* most entries of an index chunk */
#define EVENT_INDEX_MAX (1u << 20)	/* most chunks that can be sought: 64 GiB */

/* The end mark: a file without it was cut. */
struct event_end {
	uint32_t magic;
	uint32_t stream;
	uint64_t chunks;	/* number of chunks in the file, with index and dictionary */
	uint64_t index;		/* offset of the last index chunk; 0: none */
	uint64_t dict;		/* offset of the first dictionary chunk; 0: none */
	uint64_t size;		/* file size, with this end mark */
	uint32_t pad;
	uint32_t crc;		/* checksum of all bytes before it */
};

_Static_assert(sizeof(struct event_file_header) == 64, "size of struct event_file_header");
_Static_assert(sizeof(struct event_chunk) == 80, "size of struct event_chunk");
_Static_assert(offsetof(struct event_chunk, header_crc) == 76, "layout of struct event_chunk");
_Static_assert(sizeof(struct event_index_head) == 8, "size of struct event_index_head");
_Static_assert(sizeof(struct event_index_entry) == 48, "size of struct event_index_entry");
_Static_assert(sizeof(struct event_end) == 48, "size of struct event_end");
_Static_assert(sizeof(struct event_index_head) +
		       EVENT_INDEX_ENTRIES * sizeof(struct event_index_entry) <= EVENT_BLOCK_SIZE,
	       "an index chunk is a chunk");

uint32_t event_crc(const void *data, size_t size);

/* Computes the checksum of a header, excluding `crc`, its last member. */
#define event_seal(header) event_crc(header, sizeof(*(header)) - sizeof(uint32_t))

#endif
