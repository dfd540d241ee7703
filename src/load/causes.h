/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why requests failed, connections could not be made or were closed, and which replies were not
 * what was asked for: counted by cause, with the time of the first and the last, and the most
 * common text of the server. Each thread of the engine has a table; the last tick of an engine is
 * preceded by a fact per cause.
 */
#ifndef HOSTLAT_LOAD_CAUSES_H
#define HOSTLAT_LOAD_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "load/error_text.h"

#define CAUSES_MAX 24
#define CAUSE_NAME_MAX 32

/* One for each cause: causes_take() reads the value. */
#define LOAD_FACT_CAUSE "load.cause"

/* Names that hostlat gives; others are of the server ("NOAUTH", "HTTP 503") or of errno. */
#define CAUSE_TIMEOUT "timeout"
#define CAUSE_CLOSED "closed"
#define CAUSE_CUT "cut-short" /* closed or reset in the middle of a reply */
#define CAUSE_RESET "reset"
#define CAUSE_GARBLED "garbled"
#define CAUSE_REFUSED "refused"
#define CAUSE_TLS "tls"
#define CAUSE_PORTS "EADDRNOTAVAIL"
#define CAUSE_OUTAGE "outage" /* of connections: none of a thread's was open, from first to last */

enum cause_of {
	CAUSE_REQUEST,    /* requests that failed */
	CAUSE_CONNECTION, /* connections that could not be made, or ended before a reply */
	CAUSE_REPLY,      /* replies with an HTTP status that holds nothing of what was asked for */
	CAUSE_OFS,
};

struct load_cause {
	uint8_t of;                  /* enum cause_of */
	char name[CAUSE_NAME_MAX];
	char text[ERROR_TEXT_CLEAN_MAX];    /* the most common one, cleaned; "": none */
	uint64_t votes;              /* for this text */
	uint64_t count;
	uint64_t first_ns, last_ns;  /* since the start of the run */
};

struct causes {
	struct load_cause list[CAUSES_MAX];
	uint32_t n;
};

/* "request", "connection", "reply" */
const char *cause_of_name(enum cause_of of);

/* One more. Names beyond CAUSES_MAX are counted under "other". */
void causes_note(struct causes *causes, enum cause_of of, const char *name, const char *text,
		 uint64_t ns);

/* One more that lasted from `first_ns` to `last_ns`. */
void causes_note_span(struct causes *causes, enum cause_of of, const char *name, uint64_t first_ns,
		      uint64_t last_ns);

/* Adds what another table counted. */
void causes_add(struct causes *causes, const struct causes *more);

/* NULL if there is none. */
const struct load_cause *causes_find(const struct causes *causes, enum cause_of of,
				     const char *name);

/* The most frequent one of that kind, outages left out; NULL if there is none. */
const struct load_cause *causes_top(const struct causes *causes, enum cause_of of);

uint64_t causes_count(const struct causes *causes, enum cause_of of);

int causes_put(const struct causes *causes, struct event_sink *sink, uint64_t now);

/* Takes the value of a fact. -EBADMSG if it is not one. */
int causes_add_fact(struct causes *causes, const char *value);

#endif
