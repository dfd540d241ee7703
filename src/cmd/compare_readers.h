/* SPDX-License-Identifier: Apache-2.0 */
/* Readers for one side of `compare`: one recording, or the recordings in a folder of `explain`. */
#ifndef HOSTLAT_CMD_COMPARE_READERS_H
#define HOSTLAT_CMD_COMPARE_READERS_H

#include <stdbool.h>

#include "cmd/conns_scope.h"
#include "diagnose/commands.h"
#include "event/reader.h"

/*
 * Readers of the recordings of one side. For a single recording, `host`, `load` and `conns` are the
 * same reader, or NULL if the recording lacks their data.
 */
struct compare_readers {
	struct event_reader *host;  /* messages, stages and set-up facts */
	struct event_reader *load;  /* requests of the load generator */
	struct event_reader *conns; /* connections */
	bool folder;
	/* Only for a folder of `explain`: selects its run's connections among those of the host. */
	struct conns_scope scope;
	struct hostlat_pids hostlat; /* only for a folder: its run's processes */
};

/*
 * Opens the recording `path`, or the recordings in the folder `path` of `explain`. Returns 0, or
 * -errno after a message. The caller calls compare_readers_release() in either case.
 */
int compare_readers_open(struct compare_readers *readers, const char *path);
void compare_readers_release(struct compare_readers *readers);

#endif
