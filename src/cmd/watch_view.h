/* SPDX-License-Identifier: Apache-2.0 */
/* Analyzes the events of `watch` and `record` and shows each interval. */
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
 * Opens the output. `config` is copied; its `schema` and report() are ignored. `stages`: mask of
 * the stages to show, as in watch_new(); 0: all. Returns 0, or -errno after a message. The caller
 * calls watch_view_release() in either case.
 */
int watch_view_open(struct watch_view *view, const struct interval_view_config *config,
		    uint64_t stages);

/*
 * Analyzes a block and shows each interval that it completes: feed() of struct live_watch_config.
 * `view` is a struct watch_view. Returns 0, 1 after `count` intervals, or -errno.
 */
int watch_view_feed(void *view, const struct event_block *block);

/*
 * Ends the output; prints the totals over all intervals, except as JSON lines or if an undamaged
 * run's text has shown them already.
 * `damage`: damage of the input, or NULL. `record_error`: -errno if the recording is incomplete, or
 * 0. Returns an enum exit_code.
 */
int watch_view_close(struct watch_view *view, const struct event_damage *damage, int record_error);
void watch_view_release(struct watch_view *view);

#endif
