/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three pipes of an agent: commands to it, its events, its stderr. Nothing blocks; all buffers
 * are bounded.
 */
#ifndef HOSTLAT_LOAD_REMOTE_H
#define HOSTLAT_LOAD_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/feed.h"

#define REMOTE_WORDS_MAX 200 /* size of the last line on stderr that is kept */

struct remote {
	int in, out, err;            /* its stdin, stdout, stderr, non-blocking; -1: closed */
	struct strbuf unsent;
	struct event_feed *feed;
	bool eof;                    /* end of its events */
	uint64_t read_ns;            /* time of the last read of events */
	char line[REMOTE_WORDS_MAX]; /* incomplete line on stderr */
	size_t line_len;
	char words[REMOTE_WORDS_MAX]; /* last complete line on stderr; "": none */
};

/* Owns the descriptors from now on and makes them non-blocking. Returns 0 or -errno. */
int remote_init(struct remote *remote, int in, int out, int err);

/* Closes all descriptors. Accepts a zeroed remote. */
void remote_release(struct remote *remote);

/* Closes the agent's stdin, which ends the agent. */
void remote_close_in(struct remote *remote);

/* Queues a line and sends as much as possible. Returns 0, or -E2BIG if the agent does not read. */
int remote_send(struct remote *remote, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sends queued lines; call on POLLOUT of `in`, to be polled while remote_wants_out(). */
void remote_flush(struct remote *remote);
bool remote_wants_out(const struct remote *remote);

/*
 * Reads events; call on POLLIN of `out`. Returns true at new data or the end. Invalidates the
 * feed's last block.
 */
bool remote_read(struct remote *remote, uint64_t now);

/* Reads stderr; call on POLLIN of `err`. Closes it at its end. */
void remote_read_words(struct remote *remote);

/* Returns the last line on stderr, printable; "": none. */
const char *remote_words(const struct remote *remote);

#endif
