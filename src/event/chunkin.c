/* SPDX-License-Identifier: Apache-2.0 */
#include "event/chunkin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bytes of damaged chunks that may be searched for the next chunk: a constant, plus a multiple of
 * the bytes already read. A search costs the size of the chunk and may advance by only four bytes.
 * Beyond the limit, which only a crafted file reaches, a damaged chunk is skipped whole.
 */
#define SEARCHED_FREE (1u << 20)
#define SEARCHED_TIMES 4

static int init_decoder(struct event_in *in)
{
	in->raw = malloc(EVENT_BLOCK_SIZE);
	in->zstd = ZSTD_createDCtx();
	return in->raw && in->zstd ? 0 : -ENOMEM;
}

int event_in_init(struct event_in *in, int fd)
{
	int err;

	*in = (struct event_in){ 0 };
	err = event_input_init(&in->input, fd);
	return err ? err : init_decoder(in);
}

int event_in_init_fed(struct event_in *in)
{
	int err;

	*in = (struct event_in){ 0 };
	err = event_input_init_fed(&in->input);
	return err ? err : init_decoder(in);
}

void event_in_restart(struct event_in *in)
{
	in->searched = 0;
}

void event_in_release(struct event_in *in)
{
	ZSTD_freeDCtx(in->zstd);
	free(in->raw);
	event_input_release(&in->input);
	in->zstd = NULL;
	in->raw = NULL;
}

/*
 * The magic alone identifies a recording: with a right magic, a wrong checksum is damage. A swapped
 * byte order is detected before the checksum, which is then swapped as well; any other byte order
 * value after it.
 */
int event_in_header(struct event_in *in, struct event_file_header *header,
		    struct event_damage *damage)
{
	size_t n = sizeof(*header);
	const unsigned char *bytes = event_input_view(&in->input, 0, &n);

	if (n < sizeof(header->magic) || memcmp(bytes, EVENT_FILE_MAGIC, sizeof(header->magic)))
		return in->input.error ? in->input.error : -ENOEXEC;
	memset(header, 0, sizeof(*header));
	memcpy(header, bytes, n);
	if (header->byte_order == __builtin_bswap32(EVENT_BYTE_ORDER))
		return -EPROTONOSUPPORT;
	if (n < sizeof(*header) || header->crc != event_seal(header)) {
		damage->reasons |= DAMAGE_CHECKSUM;
		damage->bytes += sizeof(header->magic);
		in->start = sizeof(header->magic);
		memset(header, 0, sizeof(*header));
		return 0;
	}
	if (header->byte_order != EVENT_BYTE_ORDER || header->version != EVENT_FILE_VERSION ||
	    header->size != sizeof(*header))
		return -EPROTONOSUPPORT;
	in->stream = header->stream;
	in->start = sizeof(*header);
	return 0;
}

static bool chunk_is_sane(const struct event_chunk *chunk)
{
	if (chunk->raw_size > EVENT_BLOCK_SIZE || chunk->stored_size > chunk->raw_size)
		return false;
	return chunk->codec != EVENT_CODEC_RAW || chunk->stored_size == chunk->raw_size;
}

/* Returns what begins at these bytes: a valid chunk header or end mark of this file, or nothing. */
static enum event_found recognise(struct event_in *in, const unsigned char *bytes, size_t n,
				  struct event_chunk *chunk, struct event_end *end)
{
	if (n >= sizeof(*end)) {
		memcpy(end, bytes, sizeof(*end));
		in->examined += sizeof(*end);
		if (end->magic == EVENT_END_MAGIC && end->crc == event_seal(end) &&
		    (end->stream == in->stream || !in->stream))
			return EVENT_FOUND_END;
	}
	if (n < sizeof(*chunk))
		return EVENT_FOUND_NOTHING;
	memcpy(chunk, bytes, sizeof(*chunk));
	in->examined += sizeof(*chunk);
	if (chunk->magic != EVENT_CHUNK_MAGIC || chunk->header_crc != event_seal(chunk) ||
	    (in->stream && chunk->stream != in->stream) || !chunk_is_sane(chunk))
		return EVENT_FOUND_NOTHING;
	return EVENT_FOUND_CHUNK;
}

/*
 * Returns the next offset after `offset` where the magic of a chunk or of the end mark may begin,
 * or the end of the bytes. One pass searches for both magics and ends at the first, so that no byte
 * is compared twice.
 */
static uint64_t next_candidate(struct event_in *in, uint64_t offset)
{
	const size_t least = 1 + sizeof(uint32_t);
	size_t n = least, at;
	const unsigned char *bytes = event_input_view_all(&in->input, offset, &n);

	if (n < least)
		return offset + n;
	for (at = 1; at + sizeof(uint32_t) <= n; at++) {
		uint32_t magic;

		memcpy(&magic, bytes + at, sizeof(magic));
		if (magic == EVENT_CHUNK_MAGIC || magic == EVENT_END_MAGIC)
			break;
	}
	in->examined += at;
	/* Without a match, the last bytes may begin a magic: the next call examines them. */
	return offset + at;
}

enum event_found event_in_find(struct event_in *in, uint64_t *offset, struct event_chunk *chunk,
			       struct event_end *end, struct event_damage *damage)
{
	for (;;) {
		size_t n = sizeof(*chunk);
		const unsigned char *bytes = event_input_view(&in->input, *offset, &n);
		const enum event_found found = recognise(in, bytes, n, chunk, end);
		uint64_t next;

		if (found == EVENT_FOUND_CHUNK && !in->stream)
			in->stream = chunk->stream;
		if (found != EVENT_FOUND_NOTHING)
			return found;
		next = next_candidate(in, *offset);
		if (next == *offset)
			return EVENT_FOUND_NOTHING;
		damage->bytes += next - *offset;
		damage->reasons |= DAMAGE_GARBAGE;
		*offset = next;
	}
}

bool event_in_at(struct event_in *in, uint64_t offset, struct event_chunk *chunk)
{
	size_t n = sizeof(*chunk);
	const unsigned char *bytes = event_input_view(&in->input, offset, &n);
	struct event_end end;

	return recognise(in, bytes, n, chunk, &end) == EVENT_FOUND_CHUNK;
}

bool event_in_load(struct event_in *in, uint64_t offset, const struct event_chunk *chunk)
{
	size_t n = sizeof(*chunk) + chunk->stored_size;
	const unsigned char *bytes = event_input_view(&in->input, offset, &n);

	if (n < sizeof(*chunk) + chunk->stored_size)
		return false;
	bytes += sizeof(*chunk);
	in->examined += chunk->raw_size;
	if (event_crc(bytes, chunk->stored_size) != chunk->payload_crc)
		return false;
	if (chunk->codec == EVENT_CODEC_RAW) {
		memcpy(in->raw, bytes, chunk->stored_size);
		return true;
	}
	if (chunk->codec != EVENT_CODEC_ZSTD)
		return false;
	return ZSTD_decompressDCtx(in->zstd, in->raw, EVENT_BLOCK_SIZE, bytes,
				   chunk->stored_size) == chunk->raw_size;
}

uint64_t event_in_skip(struct event_in *in, uint64_t offset, const struct event_chunk *chunk)
{
	const uint64_t next = offset + sizeof(*chunk) + chunk->stored_size;
	/* A pipe cannot seek: its view must include the bytes to which the search may go back. */
	const size_t lead = in->input.seekable ? 0 : next - offset;
	size_t n = lead + sizeof(*chunk);
	const unsigned char *bytes = event_input_view(&in->input, next - lead, &n);
	struct event_chunk after;
	struct event_end end;

	if (n == lead && (!in->input.seekable || next <= in->input.size))
		return next;
	if (n > lead && recognise(in, bytes + lead, n - lead, &after, &end) != EVENT_FOUND_NOTHING)
		return next;
	if (in->searched > SEARCHED_FREE + SEARCHED_TIMES * offset)
		return next;
	in->searched += sizeof(*chunk) + chunk->raw_size;
	return offset + sizeof(chunk->magic);
}
