/* SPDX-License-Identifier: Apache-2.0 */
#include "event/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/chunkin.h"

struct event_feed {
	struct event_in in;
	uint64_t offset;	/* offset of the next chunk; 0: header not read yet */
	uint64_t seq;		/* expected number of the next chunk */
	int ended;		/* final result of event_feed_next(); 0: not ended */
};

int event_feed_new(struct event_feed **out)
{
	struct event_feed *feed = calloc(1, sizeof(*feed));
	int err = feed ? event_in_init_fed(&feed->in) : -ENOMEM;

	if (err)
		event_feed_free(feed);
	else
		*out = feed;
	return err;
}

void event_feed_free(struct event_feed *feed)
{
	if (!feed)
		return;
	event_in_release(&feed->in);
	free(feed);
}

void *event_feed_space(struct event_feed *feed, size_t *n)
{
	return event_input_space(&feed->in.input, feed->offset, n);
}

void event_feed_added(struct event_feed *feed, size_t n)
{
	event_input_fed(&feed->in.input, n);
}

/* Returns `n` bytes of the stream from feed->offset on; NULL if fewer have arrived. */
static const unsigned char *event_feed_view(struct event_feed *feed, size_t n)
{
	size_t got = n;
	const unsigned char *bytes = event_input_view(&feed->in.input, feed->offset, &got);

	return got == n ? bytes : NULL;
}

/*
 * Reads the file header. Rejects the first wrong byte at once: instead of a recording, a shell's
 * error message may arrive that is shorter than the header. Returns 1; 0 if bytes are missing; or
 * -errno.
 */
static int event_feed_read_header(struct event_feed *feed)
{
	struct event_damage damage = { 0 };
	struct event_file_header header;
	size_t n = sizeof(header.magic);
	const unsigned char *bytes = event_input_view(&feed->in.input, 0, &n);
	int err;

	if (memcmp(bytes, EVENT_FILE_MAGIC, n))
		return -ENOEXEC;
	if (!event_feed_view(feed, sizeof(header)))
		return 0;
	err = event_in_header(&feed->in, &header, &damage);
	if (err || damage.reasons)
		return err ? err : -EBADMSG;
	feed->offset = feed->in.start;
	return 1;
}

static int event_feed_read_end(struct event_feed *feed)
{
	struct event_damage damage = { 0 };
	struct event_chunk chunk;
	struct event_end end;
	uint64_t at = feed->offset;

	if (!event_feed_view(feed, sizeof(end)))
		return 0;
	if (event_in_find(&feed->in, &at, &chunk, &end, &damage) != EVENT_FOUND_END ||
	    at != feed->offset || end.chunks != feed->seq)
		return -EBADMSG;
	return -ENODATA;
}

/* Returns 1 if a chunk was loaded into feed->in.raw, 0 if bytes are missing, or -errno. */
static int event_feed_read_chunk(struct event_feed *feed, struct event_chunk *chunk)
{
	const unsigned char *bytes = event_feed_view(feed, sizeof(chunk->magic));
	uint32_t magic;

	if (!bytes)
		return 0;
	memcpy(&magic, bytes, sizeof(magic));
	if (magic == EVENT_END_MAGIC)
		return event_feed_read_end(feed);
	if (magic != EVENT_CHUNK_MAGIC)
		return -EBADMSG;
	if (!event_feed_view(feed, sizeof(*chunk)))
		return 0;
	if (!event_in_at(&feed->in, feed->offset, chunk) || chunk->seq != feed->seq)
		return -EBADMSG;
	if (!event_feed_view(feed, sizeof(*chunk) + chunk->stored_size))
		return 0;
	return event_in_load(&feed->in, feed->offset, chunk) ? 1 : -EBADMSG;
}

static int event_feed_read(struct event_feed *feed, struct event_block *block)
{
	struct event_chunk chunk;
	int ret = feed->offset ? 1 : event_feed_read_header(feed);

	while (ret > 0) {
		struct event_damage damage = { 0 };
		bool any;

		ret = event_feed_read_chunk(feed, &chunk);
		if (ret <= 0)
			break;
		feed->seq++;
		feed->offset += sizeof(chunk) + chunk.stored_size;
		if (chunk.flags & CHUNK_REPEAT)
			continue;
		any = event_in_block(&feed->in, &chunk, block, &damage);
		if (damage.reasons)
			return damage.reasons == DAMAGE_VERSION ? -EPROTONOSUPPORT : -EBADMSG;
		if (any)
			return 1;
	}
	return ret;
}

int event_feed_next(struct event_feed *feed, struct event_block *block)
{
	int ret = feed->ended ? feed->ended : event_feed_read(feed, block);

	if (ret < 0)
		feed->ended = ret;
	return ret;
}
