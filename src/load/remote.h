/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three pipes of an agent: its stdin for commands, its stdout for events, its stderr. No
 * function blocks; all buffers have limits.
 */
#ifndef HOSTLAT_LOAD_REMOTE_H
#define HOSTLAT_LOAD_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/feed.h"

#define REMOTE_WORDS_MAX 200 /* bytes stored of a line on stderr */

struct remote {
	int in, out, err; /* stdin, stdout, stderr of the agent, non-blocking; -1: closed */
	struct strbuf unsent;
	struct event_feed *feed;
	bool eof;                    /* the agent has closed its stdout */
	uint64_t read_ns;            /* time of the last read of events, ns */
	char line[REMOTE_WORDS_MAX]; /* incomplete last line on stderr */
	size_t line_len;
	char words[REMOTE_WORDS_MAX]; /* last complete line on stderr; "": none */
};

/* Takes ownership of the descriptors and makes them non-blocking. Returns 0 or -errno. */
int remote_init(struct remote *remote, int in, int out, int err);

/* Closes all descriptors. Accepts a zeroed remote. */
void remote_release(struct remote *remote);

/* Closes the agent's stdin, which ends the agent. */
void remote_close_in(struct remote *remote);

/*
 * Queues a command, as a line of text, and sends as much as possible. Returns 0, or -E2BIG if the
 * agent does not read its commands.
 */
int remote_send(struct remote *remote, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sends queued commands to the agent. Called on POLLOUT of `in`, which is polled while
 * remote_wants_out().
 */
void remote_flush(struct remote *remote);
bool remote_wants_out(const struct remote *remote);

/*
 * Reads events of the agent. Called on POLLIN of `out`. Returns true if there is new data or the
 * end of the stream. Invalidates the last event block taken from remote->feed.
 */
bool remote_read(struct remote *remote, uint64_t now);

/* Reads stderr, and closes it at its end. Called on POLLIN of `err`. */
void remote_read_words(struct remote *remote);

/* Returns the last line on stderr, as printable text; "": none. */
const char *remote_words(const struct remote *remote);

#endif
