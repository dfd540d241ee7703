/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three descriptors of one agent: lines to it, its events, its words on stderr. Nothing here
 * waits; all buffers are bounded.
 */
#ifndef HOSTLAT_LOAD_REMOTE_H
#define HOSTLAT_LOAD_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/feed.h"

#define REMOTE_WORDS_MAX 200 /* of the last line on stderr that is kept */

struct remote {
	int in, out, err;            /* its stdin, stdout, stderr, non-blocking; -1: closed */
	struct strbuf unsent;
	struct event_feed *feed;
	bool eof;                    /* of its events */
	uint64_t read_ns;            /* when it was last read: what came had come by then */
	char line[REMOTE_WORDS_MAX]; /* of stderr: the one that is coming, */
	size_t line_len;
	char words[REMOTE_WORDS_MAX]; /* and the last one before it, "" without any */
};

/* The descriptors become the remote's; they are made non-blocking. 0 or -errno. */
int remote_init(struct remote *remote, int in, int out, int err);

/* Closes all. For a zeroed one, too. */
void remote_release(struct remote *remote);

/* The agent takes this for the end. */
void remote_close_in(struct remote *remote);

/* Puts a line into the queue and sends what can be sent. -E2BIG: it does not listen. */
int remote_send(struct remote *remote, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* For POLLOUT of `in`; it is worth waiting for while remote_wants_out(). */
void remote_flush(struct remote *remote);
bool remote_wants_out(const struct remote *remote);

/* For POLLIN of `out`: true if something came, or the end. Ends the feed's last block. */
bool remote_read(struct remote *remote, uint64_t now);

/* For POLLIN of `err`. Closes it at its end. */
void remote_read_words(struct remote *remote);

/* What it last said on stderr, fit for a terminal; "" for nothing. */
const char *remote_words(const struct remote *remote);

#endif
