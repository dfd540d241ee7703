/* SPDX-License-Identifier: Apache-2.0 */
/* The intervals of `watch` and of what records as it does. */
#ifndef HOSTLAT_CMD_WATCH_VIEW_H
#define HOSTLAT_CMD_WATCH_VIEW_H

#include "cmd/interval_view.h"
#include "watch/watch.h"

struct watch_view {
	struct interval_view shown;
	struct interval_view_config config;
	struct watch *watch;
};

/*
 * Opens the output. Of `config` schema and report() are filled in here; stages: see watch_new().
 * Returns 0 or -errno, with a message. To be released in either case.
 */
int watch_view_open(struct watch_view *view, const struct interval_view_config *config,
		    uint64_t stages);

/*
 * Takes all records of a block; shows each interval that closes. 1 once `count` has been shown, or
 * -errno. `view` is a struct watch_view: see struct live_watch_config.
 */
int watch_view_feed(void *view, const struct event_block *block);

/*
 * The end: damage of the source (NULL = it has none), and why a recording is not whole (0 = it is).
 * Prints the totals where they are due. Returns an enum exit_code.
 */
int watch_view_close(struct watch_view *view, const struct event_damage *damage, int record_error);
void watch_view_release(struct watch_view *view);

#endif
