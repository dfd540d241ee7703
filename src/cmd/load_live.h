/* SPDX-License-Identifier: Apache-2.0 */
/* A live run of load: records and analyzes the events of its backend (load_backend.h). */
#ifndef HOSTLAT_CMD_LOAD_LIVE_H
#define HOSTLAT_CMD_LOAD_LIVE_H

#include "base/keys.h"
#include "base/stop.h"
#include "cmd/load_options.h"
#include "cmd/recording.h"
#include "load/consumer.h"

struct load_live {
	const struct load_options *options; /* all options, also for the agents */
	const struct load_config *config;
	const struct load_analysis_config *analysis;
	struct stop *stop;
	struct recording *recording;
	struct load_consumer *consumer;
	bool quiet;
	struct keys *keys; /* q ends the run; NULL: no keys are read */
	/* prefix of the progress line of one of several runs: "run 3 of 10"; NULL: none */
	const char *label;
};

/*
 * Runs until the end, a decision or a signal, and finishes the consumer. Returns EXIT_OK or, after
 * a message, EXIT_USAGE or EXIT_CANNOT. A signal sets consumer->interrupted and is no failure.
 */
int load_live_run(const struct load_live *live);

#endif
