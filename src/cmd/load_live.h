/* SPDX-License-Identifier: Apache-2.0 */
/* One live run: what its maker tells (load_backend.h) is recorded and taken in. */
#ifndef HOSTLAT_CMD_LOAD_LIVE_H
#define HOSTLAT_CMD_LOAD_LIVE_H

#include "base/stop.h"
#include "cmd/load_consumer.h"
#include "cmd/load_options.h"
#include "cmd/recording.h"

struct load_live {
	const struct load_options *options; /* who makes the load, and what agents are told */
	const struct load_config *config;
	const struct load_analysis_config *analysis;
	struct stop *stop;
	struct recording *recording;
	struct load_consumer *consumer;
	bool quiet;
	const char *label; /* one of many: of the progress line, "run 3 of 10"; NULL: none */
};

/*
 * Runs until the end, a decision or a signal; `intake` has been finished then. Returns EXIT_OK or,
 * after a message, EXIT_USAGE or EXIT_CANNOT. A signal is no failure: intake->interrupted.
 */
int load_live_run(const struct load_live *live);

#endif
