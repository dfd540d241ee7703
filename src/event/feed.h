/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes an event stream that arrives in pieces of any size from a running peer: never waits, and
 * fails at the first damage. A file that lost a block is still useful; a peer that sends one wrong
 * byte is not. All bytes are checked (event/reader.h).
 *
 * Memory: one EVENT_INPUT_SIZE and one EVENT_BLOCK_SIZE.
 */
#ifndef HOSTLAT_EVENT_FEED_H
#define HOSTLAT_EVENT_FEED_H

#include "event/source.h"

struct event_feed;

/* Returns 0 or -ENOMEM. */
int event_feed_new(struct event_feed **out);
void event_feed_free(struct event_feed *feed);

/*
 * Returns where to put the next bytes, and in `n` how many fit: 0 only while event_feed_next() has
 * a block to return. Invalidates the last block. Call event_feed_added() afterwards.
 */
void *event_feed_space(struct event_feed *feed, size_t *n);
void event_feed_added(struct event_feed *feed, size_t n);

/*
 * Returns 1 and the next block, valid until the next call; or 0 if more bytes are needed. -ENODATA
 * after the end mark; -ENOEXEC: not an event stream; -EPROTONOSUPPORT: newer version or other byte
 * order; -EBADMSG: damaged. Chunks of unknown kinds are skipped.
 */
int event_feed_next(struct event_feed *feed, struct event_block *block);

#endif
