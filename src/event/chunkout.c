/* SPDX-License-Identifier: Apache-2.0 */
#include "event/chunkout.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/stop.h"
#include "base/version.h"

/* The fastest level: it halves recordings of spans (docs/results/event-format.md). */
#define ZSTD_LEVEL 1

uint32_t event_crc(const void *data, size_t size)
{
	return crc32(0, data, size);
}

static int event_out_wait(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	return poll(&poll_fd, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

static int event_out_write_all(int fd, const void *data, size_t size)
{
	const char *from = data;

	while (size) {
		ssize_t n = stop_write(fd, from, size);
		int err = 0;

		if (n > 0) {
			from += n;
			size -= n;
		} else if (n == 0) {
			err = -EIO;
		} else if (n == -EAGAIN) {
			err = event_out_wait(fd);
		} else if (n != -EINTR) {
			err = (int)n;
		}
		if (err)
			return err;
	}
	return 0;
}

/* Readers cannot use a part of a chunk: a regular file is truncated to whole chunks. */
static void event_out_fail(struct event_out *out, int err)
{
	const off_t end = out->start + (off_t)out->offset;

	out->error = err;
	if (out->start >= 0 && ftruncate(out->fd, end) == 0)
		(void)lseek(out->fd, end, SEEK_SET);
}

static void event_out_emit(struct event_out *out, const void *head, size_t head_size,
			   const void *payload, size_t payload_size)
{
	int err;

	if (out->error)
		return;
	err = event_out_write_all(out->fd, head, head_size);
	if (!err)
		err = event_out_write_all(out->fd, payload, payload_size);
	if (err)
		event_out_fail(out, err);
	else
		out->offset += head_size + payload_size;
}

static uint32_t event_out_random_stream(void)
{
	struct timespec now;
	uint32_t stream;

	if (getrandom(&stream, sizeof(stream), GRND_NONBLOCK) != sizeof(stream)) {
		clock_gettime(CLOCK_REALTIME, &now);
		stream = now.tv_nsec ^ (uint32_t)now.tv_sec << 8 ^ getpid();
	}
	return stream | 1;	/* never 0, which means an unknown stream */
}

static void event_out_write_header(struct event_out *out, struct event_file_header *header)
{
	memcpy(header->magic, EVENT_FILE_MAGIC, sizeof(header->magic));
	header->byte_order = EVENT_BYTE_ORDER;
	header->version = EVENT_FILE_VERSION;
	header->size = sizeof(*header);
	header->stream = out->stream;
	memset(header->creator, 0, sizeof(header->creator));
	memcpy(header->creator, hostlat_version(),
	       strnlen(hostlat_version(), sizeof(header->creator) - 1));
	header->crc = event_seal(header);
	event_out_emit(out, header, sizeof(*header), NULL, 0);
}

int event_out_init(struct event_out *out, int fd, struct event_file_header *header, bool raw)
{
	*out = (struct event_out){
		.fd = fd,
		.start = lseek(fd, 0, SEEK_CUR),
		.stream = header->stream ? header->stream : event_out_random_stream(),
	};
	out->packed = malloc(EVENT_BLOCK_SIZE);
	out->entries = malloc(EVENT_INDEX_ENTRIES * sizeof(*out->entries));
	if (!out->packed || !out->entries)
		return -ENOMEM;
	if (!raw) {
		out->zstd = ZSTD_createCCtx();
		if (!out->zstd)
			return -ENOMEM;
	}
	event_out_write_header(out, header);
	return out->error;
}

void event_out_release(struct event_out *out)
{
	ZSTD_freeCCtx(out->zstd);
	free(out->packed);
	free(out->entries);
	out->zstd = NULL;
	out->packed = NULL;
	out->entries = NULL;
}

/* Compresses if that makes the payload smaller: readers rely on stored_size <= raw_size. */
static const void *event_out_pack(struct event_out *out, struct event_chunk *chunk,
				  const void *payload)
{
	size_t size;

	chunk->codec = EVENT_CODEC_RAW;
	chunk->stored_size = chunk->raw_size;
	if (!out->zstd || chunk->raw_size == 0)
		return payload;
	size = ZSTD_compressCCtx(out->zstd, out->packed, chunk->raw_size - 1, payload,
				 chunk->raw_size, ZSTD_LEVEL);
	if (ZSTD_isError(size))
		return payload;
	chunk->codec = EVENT_CODEC_ZSTD;
	chunk->stored_size = size;
	return out->packed;
}

static void event_out_put(struct event_out *out, struct event_chunk *chunk, const void *payload)
{
	const void *stored = event_out_pack(out, chunk, payload);

	chunk->magic = EVENT_CHUNK_MAGIC;
	chunk->stream = out->stream;
	chunk->seq = out->seq++;
	chunk->payload_crc = event_crc(stored, chunk->stored_size);
	chunk->header_crc = event_seal(chunk);
	event_out_emit(out, chunk, sizeof(*chunk), stored, chunk->stored_size);
}

static void event_out_write_index(struct event_out *out)
{
	struct payload {
		struct event_index_head head;
		struct event_index_entry entries[EVENT_INDEX_ENTRIES];
	} *payload = malloc(sizeof(*payload));
	struct event_chunk chunk = {
		.kind = EVENT_CHUNK_INDEX,
		.version = 1,
		.core = EVENT_CORE_NONE,
		.record_size = sizeof(struct event_index_entry),
		.count = out->n_entries,
		.raw_size = sizeof(payload->head) + out->n_entries * sizeof(*payload->entries),
	};
	const uint64_t offset = out->offset;

	if (!payload) {
		event_out_fail(out, -ENOMEM);
		return;
	}
	payload->head.previous = out->index;
	memcpy(payload->entries, out->entries, out->n_entries * sizeof(*out->entries));
	event_out_put(out, &chunk, payload);
	out->index = offset;
	out->n_entries = 0;
	free(payload);
}

void event_out_chunk(struct event_out *out, struct event_chunk *chunk, const void *payload)
{
	const uint64_t offset = out->offset;

	if (out->error)
		return;
	event_out_put(out, chunk, payload);
	out->entries[out->n_entries++] = (struct event_index_entry){
		.offset = offset,
		.first = chunk->first,
		.last = chunk->last,
		.reach = chunk->reach,
		.core = chunk->core,
		.kind = chunk->kind,
		.domain = chunk->domain,
		.stored_size = chunk->stored_size,
		.flags = chunk->flags,
	};
	if (out->n_entries == EVENT_INDEX_ENTRIES)
		event_out_write_index(out);
}

void event_out_end(struct event_out *out, uint64_t dict)
{
	struct event_end end = { .magic = EVENT_END_MAGIC, .stream = out->stream };

	if (out->n_entries && !out->error)
		event_out_write_index(out);
	end.chunks = out->seq;
	end.index = out->index;
	end.dict = dict;
	end.size = out->offset + sizeof(end);
	end.crc = event_seal(&end);
	event_out_emit(out, &end, sizeof(end), NULL, 0);
}
