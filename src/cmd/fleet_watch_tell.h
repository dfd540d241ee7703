/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of hostlat fleet watch: text, or a JSON document each. */
#ifndef HOSTLAT_CMD_FLEET_WATCH_TELL_H
#define HOSTLAT_CMD_FLEET_WATCH_TELL_H

#include "base/outfile.h"
#include "cmd/cmd.h"
#include "fleet/changes.h"

/* A line. */
struct fleet_watch_line {
	const char *event;        /* "begins", "goes-on", "ends", "nothing", "away", "back" ... */
	const char *text;         /* a sentence */
	uint64_t time_ns;         /* realtime */
	uint64_t from_ns, to_ns;  /* time of the look; to_ns 0: none */
	const struct fleet_problem *problem; /* NULL: it is of none */
	const struct fleet_finding *finding; /* NULL: none, as of one that ended */
	uint64_t since_ns;        /* end of the look in which the problem began */
};

struct fleet_watch_output {
	const struct common_options *common;
	struct outfile file;
	bool reader_gone;         /* the reader of the pipe has exited */
};

/* Opens the output. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int fleet_watch_open(struct fleet_watch_output *out, const struct common_options *common);

/* Writes a line at once. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int fleet_watch_tell(struct fleet_watch_output *out, const struct fleet_watch_line *line);

/* Ends the output. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int fleet_watch_close(struct fleet_watch_output *out);

#endif
