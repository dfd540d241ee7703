/* SPDX-License-Identifier: Apache-2.0 */
/* A live run of `conns`: samples connections and reads their records, within a CPU budget. */
#ifndef HOSTLAT_CMD_CONNS_LIVE_H
#define HOSTLAT_CMD_CONNS_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "probe/connection/conns_source.h"

struct conns_live_config {
	uint64_t interval_ns;
	uint64_t duration_ns;    /* length of the run; 0: until stopped */
	uint64_t count;          /* number of intervals; 0: until stopped */
	double low, high;        /* budget of own CPU time, as shares of one core, 0..1 */
	uint64_t seed;           /* seed of the random sampling times */
	enum conns_collect collect;
	const char *record;      /* path of the recording; NULL: none */
	uint64_t size_limit;     /* limit of the recording in bytes, which ends the run; 0: none */
	bool record_all;         /* record connections without problems in full, not downsampled */
	int result_fd;           /* descriptor of the result; must not be the recording */
	struct conns_log log;    /* connections whose calls are logged */
	/* Chooses connections of the last interval for the log of calls: conns_choose_for_log(). */
	int (*choose)(void *ctx, int (*chosen)(void *to, uint64_t cookie), void *to);
	/* Receives each block of events; see struct live_watch_config. */
	int (*feed)(void *ctx, const struct event_block *block);
	void *ctx;
	/* Keys of a live view; see struct live_watch_config. */
	int keys_fd;
	int (*obey_keys)(void *keys_ctx);
	void *keys_ctx;
};

/* Measures until stopped. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int conns_live_run(const struct conns_live_config *config, int *record_error);

#endif
