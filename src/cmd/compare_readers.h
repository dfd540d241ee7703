/* SPDX-License-Identifier: Apache-2.0 */
/* Readers for one side of `compare`: one recording, or the recordings in a folder of `explain`. */
#ifndef HOSTLAT_CMD_COMPARE_READERS_H
#define HOSTLAT_CMD_COMPARE_READERS_H

#include <stdbool.h>

#include "cmd/conns_scope.h"
#include "event/reader.h"

/* For a single recording, all three are the same reader, or NULL where it lacks the data. */
struct compare_readers {
	struct event_reader *host;  /* messages, stages and set-up facts */
	struct event_reader *load;  /* requests of the load generator */
	struct event_reader *conns; /* connections */
	bool folder;
	struct conns_scope scope;   /* for a folder: selects the connections of the run */
};

/* Returns 0, or -errno after a message. compare_readers_release() follows in either case. */
int compare_readers_open(struct compare_readers *readers, const char *path);
void compare_readers_release(struct compare_readers *readers);

#endif
