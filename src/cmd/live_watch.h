/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live run of the packet probe, for `watch` and `record`. Each interval's events go to the view
 * and, if there is a file, into the recording.
 */
#ifndef HOSTLAT_CMD_LIVE_WATCH_H
#define HOSTLAT_CMD_LIVE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/live_options.h"
#include "event/source.h"
#include "trace/tracefs.h"

struct live_watch_config {
	const struct pkt_probe_config *probe; /* as given; the run fills in a copy */
	uint64_t interval_ns;
	uint64_t duration_ns;    /* 0: until stopped */
	const char *record;      /* file, or NULL */
	uint64_t size_limit;     /* largest size of the recording in bytes, which ends the run;
				  * 0: none */
	bool activity;           /* record CPU activity, too */
	/* With the kernel's functions; NULL: without. */
	const struct tracefs_config *functions;
	int result_fd;           /* descriptor of the result: must not be the recording */
	/*
	 * Takes each block. 1 ends the run, -errno fails it; -ECANCELED: the message has been
	 * printed. NULL: nobody looks.
	 */
	int (*feed)(void *ctx, const struct event_block *block);
	void *ctx;
};

enum live_watch_end {
	LIVE_STOPPED, LIVE_TIME, LIVE_COUNT, LIVE_FULL, LIVE_PROCESS,
};

struct live_watch_result {
	enum live_watch_end end;    /* reason why the run ended */
	int record_error;        /* -errno: why the recording is incomplete */
	uint64_t recorded_bytes;
	bool lacks_activity;     /* this kernel refuses CPU activity, which was requested */
};

/* Runs until stopped. Returns EXIT_OK or, after a message, EXIT_USAGE or EXIT_CANNOT. */
int live_watch_run(const struct live_watch_config *config, struct live_watch_result *result);

#endif
