/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long connections took to open. Each thread of an engine has histograms; before its last
 * EV_LOAD event, the engine puts an EV_FACT event for each that is not empty.
 */
#ifndef HOSTLAT_LOAD_DIAL_TIMES_H
#define HOSTLAT_LOAD_DIAL_TIMES_H

#include <stdint.h>

#include "event/source.h"
#include "report/report.h"
#include "stats/hist.h"

/* Key of the EV_FACT events; dial_times_add_fact() parses the value. */
#define LOAD_FACT_DIAL "load.dial"

enum dial_time {
	DIAL_CONNECT,   /* from connect() until the connection was established */
	DIAL_HANDSHAKE, /* from then until the TLS handshake was complete */
	DIAL_RECONNECT, /* from the loss of an open connection until it was open again */
	DIAL_TIMES,
};

struct dial_times {
	struct hist of[DIAL_TIMES]; /* ns */
};

/* Reserves all memory, so that dial_times_note() needs none. Returns 0 or -ENOMEM. */
int dial_times_init(struct dial_times *times);

/* Frees the histograms. Accepts zeroed memory. */
void dial_times_release(struct dial_times *times);

void dial_times_note(struct dial_times *times, enum dial_time of, uint64_t ns);

/* Adds all times of `more`. Returns 0 or -ENOMEM. */
int dial_times_add(struct dial_times *times, const struct dial_times *more);

int dial_times_put(const struct dial_times *times, struct event_sink *sink, uint64_t now);

/*
 * Adds times from a value of LOAD_FACT_DIAL. Returns 0, -ENOMEM, or -EBADMSG for a malformed
 * value.
 */
int dial_times_add_fact(struct dial_times *times, const char *value);

/* Adds the table "connection_times" and, after handshakes or reconnects, a finding. */
void dial_times_report(const struct dial_times *times, struct report *r);
void dial_times_words(const struct dial_times *times, struct report *r);

#endif
