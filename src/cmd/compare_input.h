/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of one recording of `compare`, or of the recordings in a folder of `explain`. */
#ifndef HOSTLAT_CMD_COMPARE_INPUT_H
#define HOSTLAT_CMD_COMPARE_INPUT_H

#include "cmd/compare_facts.h"
#include "cmd/compare_readers.h"
#include "cmd/run_facts.h"
#include "conns/compare.h"
#include "load/consumer.h"
#include "watch/compare.h"

struct compare_input {
	const char *file;              /* path */
	struct compare_readers from;
	struct run_facts run;
	struct compare_facts facts;
	struct watch_run *watch;
	struct conns_run *conns;       /* analyzed connections; NULL: the recording has none */
	bool messages, load, stages;   /* the recording has them */
	/* Analysis of the load generator's requests; unused unless `consumed`. */
	struct load_consumer consumer;
	bool consumed;
	struct event_damage damage;
};

/*
 * Reads a zeroed input, but for messages and requests. Returns 0, or -errno after a message.
 * Release it in either case.
 */
int compare_input_read(struct compare_input *in, const char *path);
void compare_input_release(struct compare_input *in);

/* Analyzes the requests of the load generator. Returns 0, or -errno after a message. */
int compare_input_read_load(struct compare_input *in);

bool compare_input_has_conns(const struct compare_input *in);

#endif
