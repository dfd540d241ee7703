/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts failed requests, failed or closed connections and unexpected replies by cause, with the
 * first and last time and the server's most common error text. Each thread of an engine has a
 * table; before its last EV_LOAD event, the engine puts one EV_FACT event per cause.
 */
#ifndef HOSTLAT_LOAD_CAUSES_H
#define HOSTLAT_LOAD_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "load/error_text.h"

#define CAUSES_MAX 24
#define CAUSE_NAME_MAX 32

/* Key of the EV_FACT events, one per cause of failures; causes_add_fact() parses the value. */
#define LOAD_FACT_CAUSE "load.cause"

/* Causes that hostlat names; other names come from the server ("NOAUTH", "HTTP 503") or errno. */
#define CAUSE_TIMEOUT "timeout"
#define CAUSE_CLOSED "closed"
#define CAUSE_CUT "cut-short" /* the connection was closed or reset in the middle of a reply */
#define CAUSE_RESET "reset"
#define CAUSE_GARBLED "garbled"
#define CAUSE_REFUSED "refused"
#define CAUSE_TLS "tls" /* after an alert of the server "tls-NAME", such as tls-unknown-ca */
#define CAUSE_GOAWAY "GOAWAY" /* HTTP/2: with an error code, after replies */
#define CAUSE_NEW_NODE "new-node" /* cluster: MOVED or ASK names a node without connections */
#define CAUSE_REDIRECTS "redirects" /* cluster: more MOVED and ASK than a request follows */
#define CAUSE_PORTS "EADDRNOTAVAIL"
#define CAUSE_OUTAGE "outage" /* no connection of a thread was open from first_ns to last_ns */

enum cause_of {
	CAUSE_REQUEST,    /* failed requests */
	CAUSE_CONNECTION, /* connections that could not be opened, or ended before a reply */
	CAUSE_REPLY,      /* replies whose HTTP status means that there is no content */
	CAUSE_OFS,
};

struct load_cause {
	uint8_t of;                  /* enum cause_of */
	char name[CAUSE_NAME_MAX];
	char text[ERROR_TEXT_CLEAN_MAX];    /* the most common error text, printable; "": none */
	uint64_t votes;              /* majority count of `text` (Boyer and Moore) */
	uint64_t count;
	/* times of the first and the last occurrence, since the start of the run */
	uint64_t first_ns, last_ns;
};

struct causes {
	struct load_cause list[CAUSES_MAX];
	uint32_t n;
};

/* Returns "request", "connection" or "reply". */
const char *cause_of_name(enum cause_of of);

/* Counts one occurrence of a cause; once the table is full, a new cause counts as "other". */
void causes_note(struct causes *causes, enum cause_of of, const char *name, const char *text,
		 uint64_t ns);

/* Counts one occurrence that lasted from `first_ns` to `last_ns`. */
void causes_note_span(struct causes *causes, enum cause_of of, const char *name, uint64_t first_ns,
		      uint64_t last_ns);

/* Adds the counts of the table `more` to `causes`. */
void causes_add(struct causes *causes, const struct causes *more);

/* Returns the cause with this name; NULL if there is none. */
const struct load_cause *causes_find(const struct causes *causes, enum cause_of of,
				     const char *name);

/* Returns the most frequent cause of kind `of`, except an outage; NULL if there is none. */
const struct load_cause *causes_top(const struct causes *causes, enum cause_of of);

uint64_t causes_count(const struct causes *causes, enum cause_of of);

int causes_put(const struct causes *causes, struct event_sink *sink, uint64_t now);

/* Adds a cause from a value of LOAD_FACT_CAUSE. Returns 0, or -EBADMSG for a malformed value. */
int causes_add_fact(struct causes *causes, const char *value);

#endif
