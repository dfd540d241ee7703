/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `hostlat explain`, and the command lines of its child processes. */
#ifndef HOSTLAT_CMD_EXPLAIN_OPTIONS_H
#define HOSTLAT_CMD_EXPLAIN_OPTIONS_H

#include "cmd/arguments.h"
#include "cmd/cmd.h"
#include "cmd/load_options.h"

struct explain_config {
	const char *url;
	double rate, rate_probed;
	uint64_t duration_ns;
	const char *folder;
	uint64_t port;
	uint64_t connections, outstanding, seed;
	struct load_thread_options threads;
	uint64_t size_limit;
	const char *workload, *arrival, *replay;
	bool preload, no_conns;
	struct opt_list commands;
	struct load_request_options to;
	const char *from;
	struct common_options common;
};

extern const struct opt explain_option_rows[];

/* Returns the options of the load, as far as their checks need them. */
struct load_options explain_options_of_load(const struct explain_config *c);

/* Returns whether the load has no rate yet: neither --rate nor recorded times. */
bool explain_options_lack_rate(const struct explain_config *c);

/*
 * Add the words of a child process: _record() `hostlat record` of the server's port; _conns()
 * `hostlat conns` of all connections of the host, of which explain selects the run's afterwards;
 * the others `hostlat load`, to store keys, to choose a rate, and for the run itself.
 */
void explain_options_record(struct child_arguments *w, const struct explain_config *c,
			    uint64_t port);
void explain_options_conns(struct child_arguments *w, const struct explain_config *c);
void explain_options_preload(struct child_arguments *w, const struct explain_config *c);
void explain_options_probe(struct child_arguments *w, const struct explain_config *c);
void explain_options_load(struct child_arguments *w, const struct explain_config *c);

#endif
