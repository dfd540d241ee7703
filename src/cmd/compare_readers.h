/* SPDX-License-Identifier: Apache-2.0 */
/* Readers for one side of `compare`: one recording, or the recordings in a folder of `explain`. */
#ifndef HOSTLAT_CMD_COMPARE_READERS_H
#define HOSTLAT_CMD_COMPARE_READERS_H

#include <stdbool.h>

#include "cmd/conns_scope.h"
#include "event/reader.h"

/* With one recording, all three are the same reader, or NULL for data that it lacks. */
struct compare_readers {
	struct event_reader *host;  /* messages, stages, set-up */
	struct event_reader *load;  /* a load generator's requests */
	struct event_reader *conns; /* connections */
	bool folder;
	struct conns_scope scope;   /* folder: the run's own connections */
};

/* 0 or -errno, with a message. To be released in either case. */
int compare_readers_open(struct compare_readers *readers, const char *path);
void compare_readers_release(struct compare_readers *readers);

#endif
