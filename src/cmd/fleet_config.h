/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hostlat fleet, and what each of its words does. */
#ifndef HOSTLAT_CMD_FLEET_CONFIG_H
#define HOSTLAT_CMD_FLEET_CONFIG_H

#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/fleet_inputs.h"

struct fleet_config {
	uint32_t action;
	struct opt_files files;
	const char *store;
	struct opt_list topology;
	const char *apps;
	struct opt_list except;       /* hosts of the store that are left out */
	const char *since, *until;    /* cmd/fleet_time.h; NULL: the last hour of the store */
	uint64_t step_ns;
	uint64_t window_ns;           /* fleet_window_ns(); 0: not given */
	uint64_t keep_ns;             /* age of windows that are deleted; 0: none are */
	uint64_t last_ns, every_ns;   /* looks of watch; 0: not given */
	uint64_t count;               /* number of these looks; 0: no end */
	const char *reader;
	bool all, paper, otel_views;
	struct common_options common;
};

/* Returns the length of the windows of ingest. */
static inline uint64_t fleet_window_ns(const struct fleet_config *c)
{
	return c->window_ns ? c->window_ns : 3600 * NS_PER_S;
}

/* Reads the tables of the command line. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int fleet_tables_read(const struct fleet_config *c, struct fleet_inputs *in);

/* Each returns an enum exit_code, after all messages. */
int fleet_run_init(const struct fleet_config *c);
int fleet_run_ingest(const struct fleet_config *c, struct fleet_inputs *in);
int fleet_run_export(const struct fleet_config *c, struct fleet_inputs *in);
int fleet_run_watch(const struct fleet_config *c, struct fleet_inputs *in);

#endif
