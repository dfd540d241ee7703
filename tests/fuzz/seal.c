/* SPDX-License-Identifier: Apache-2.0 */
#include "seal.h"

#include <stdint.h>
#include <string.h>

#include "event/format.h"

static void seal_header(unsigned char *data)
{
	struct event_file_header header;

	memcpy(&header, data, sizeof(header));
	memcpy(header.magic, EVENT_FILE_MAGIC, sizeof(header.magic));
	header.byte_order = EVENT_BYTE_ORDER;
	header.version = EVENT_FILE_VERSION;
	header.size = sizeof(header);
	header.stream = 1;
	header.crc = event_seal(&header);
	memcpy(data, &header, sizeof(header));
}

static size_t seal_chunk(unsigned char *data, size_t size)
{
	struct event_chunk chunk;

	memcpy(&chunk, data, sizeof(chunk));
	chunk.magic = EVENT_CHUNK_MAGIC;
	chunk.stream = 1;
	if (chunk.stored_size > size - sizeof(chunk))
		chunk.stored_size = size - sizeof(chunk);
	if (chunk.codec == EVENT_CODEC_RAW)
		chunk.raw_size = chunk.stored_size;
	chunk.payload_crc = event_crc(data + sizeof(chunk), chunk.stored_size);
	chunk.header_crc = event_seal(&chunk);
	memcpy(data, &chunk, sizeof(chunk));
	return sizeof(chunk) + chunk.stored_size;
}

void seal_file(unsigned char *data, size_t size)
{
	struct event_end end;
	size_t at = sizeof(struct event_file_header);

	if (size < at)
		return;
	seal_header(data);
	while (size - at >= sizeof(struct event_chunk))
		at += seal_chunk(data + at, size - at);
	if (size - at != sizeof(end))
		return;
	memcpy(&end, data + at, sizeof(end));
	end.magic = EVENT_END_MAGIC;
	end.stream = 1;
	end.size = size;
	end.crc = event_seal(&end);
	memcpy(data + at, &end, sizeof(end));
}
