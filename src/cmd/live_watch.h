/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live run of the packet probe, for `watch` and `record`. Events go to the view and, if
 * requested, to a recording.
 */
#ifndef HOSTLAT_CMD_LIVE_WATCH_H
#define HOSTLAT_CMD_LIVE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/live_options.h"
#include "event/source.h"
#include "trace/tracefs.h"

struct live_watch_config {
	const struct pkt_probe_config *probe; /* options as given; the run completes a copy */
	uint64_t interval_ns;
	uint64_t duration_ns;    /* length of the run; 0: until stopped */
	const char *record;      /* path of the recording; NULL: none */
	uint64_t size_limit;     /* limit of the recording in bytes, which ends the run; 0: none */
	bool activity;           /* record CPU activity */
	/* Kernel functions to record with CPU activity; NULL: none. */
	const struct tracefs_config *functions;
	int result_fd;           /* descriptor of the result; must not be the recording */
	/*
	 * Receives each block of events. Returns 0, 1 to end the run, or -errno if it fails
	 * (-ECANCELED: already logged). NULL: there is no view.
	 */
	int (*feed)(void *ctx, const struct event_block *block);
	void *ctx;
	/*
	 * Keys of a live view: descriptor for poll(2), -1: none; and the function that obeys them,
	 * which returns 1 to end the run, 0 or -errno.
	 */
	int keys_fd;
	int (*obey_keys)(void *keys_ctx);
	void *keys_ctx;
};

enum live_watch_end {
	LIVE_STOPPED, LIVE_TIME, LIVE_COUNT, LIVE_FULL, LIVE_PROCESS,
};

struct live_watch_result {
	enum live_watch_end end;    /* reason why the run ended */
	int record_error;        /* 0, or -errno: the recording is incomplete */
	uint64_t recorded_bytes;
	bool lacks_activity;     /* CPU activity was requested, but the kernel refuses it */
};

/* Measures until stopped. Returns EXIT_OK or, after a message, EXIT_USAGE or EXIT_CANNOT. */
int live_watch_run(const struct live_watch_config *config, struct live_watch_result *result);

#endif
