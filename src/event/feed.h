/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes an event stream that arrives in pieces of any size from a running peer: never waits, and
 * fails at the first damage. A file that lost a block is still useful; a peer that sends one wrong
 * byte is not. Nothing in the bytes is trusted (event/reader.h).
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
 * a block. Invalidates the last block. Call event_feed_added() afterwards.
 */
void *event_feed_space(struct event_feed *feed, size_t *n);
void event_feed_added(struct event_feed *feed, size_t n);

/*
 * The next block, valid until the next call: 1; or 0: more bytes are needed first. -ENODATA after
 * the end mark; -ENOEXEC: these are no events at all; -EPROTONOSUPPORT: of a newer version or of
 * the other byte order; -EBADMSG: damaged. Kinds from the future are left out.
 */
int event_feed_next(struct event_feed *feed, struct event_block *block);

#endif
