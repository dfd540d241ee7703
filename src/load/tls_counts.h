/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of TLS handshakes. Each thread of an engine counts; before its last EV_LOAD event, the
 * engine puts one EV_FACT event if there were handshakes.
 */
#ifndef HOSTLAT_LOAD_TLS_COUNTS_H
#define HOSTLAT_LOAD_TLS_COUNTS_H

#include <stdint.h>

#include "event/source.h"

/* Key of the EV_FACT event: "HANDSHAKES RESUMED". */
#define LOAD_FACT_TLS "load.tls"

struct tls_counts {
	uint64_t handshakes; /* completed handshakes, those before the run included */
	uint64_t resumed;    /* handshakes that resumed a session */
};

/* Puts the counts, unless there were no handshakes. Returns 0 or -errno. */
int tls_counts_put(const struct tls_counts *counts, struct event_sink *sink, uint64_t now);

/* Adds the counts of a value of LOAD_FACT_TLS. Returns 0, or -EBADMSG for a malformed value. */
int tls_counts_add_fact(struct tls_counts *counts, const char *value);

#endif
