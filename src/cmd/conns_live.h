/* SPDX-License-Identifier: Apache-2.0 */
/* A live run of the `conns` probe: when to look at which connections, within the CPU budget. */
#ifndef HOSTLAT_CMD_CONNS_LIVE_H
#define HOSTLAT_CMD_CONNS_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "probe/connection/conns_source.h"

struct conns_live_config {
	uint64_t interval_ns;
	uint64_t duration_ns;    /* 0: until stopped */
	uint64_t count;          /* intervals; 0: as above */
	double low, high;        /* own CPU, as shares of one core */
	uint64_t seed;           /* of the times of samples */
	enum conns_collect collect;
	const char *record;      /* file, or NULL */
	uint64_t size_limit;     /* of that file, which ends the run; 0 = none */
	bool record_all;         /* what has no problem is recorded in full, too */
	int result_fd;           /* where the result is written: not the recording's place */
	struct conns_log log;    /* connections to be logged */
	/* Chooses the connections of the last interval to be logged: conns_choose_for_log(). */
	int (*choose)(void *ctx, int (*chosen)(void *to, uint64_t cookie), void *to);
	/* As in struct live_watch_config. */
	int (*feed)(void *ctx, const struct event_block *block);
	void *ctx;
};

/* Runs until stopped. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int conns_live_run(const struct conns_live_config *config, int *record_error);

#endif
