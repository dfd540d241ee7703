/* SPDX-License-Identifier: Apache-2.0 */
/* Analyzes the events of `conns` and shows each interval. */
#ifndef HOSTLAT_CMD_CONNS_VIEW_H
#define HOSTLAT_CMD_CONNS_VIEW_H

#include "cmd/conns_metrics.h"
#include "cmd/interval_view.h"
#include "conns/conns.h"

struct conns_view {
	struct interval_view shown;
	struct interval_view_config config;
	struct conns *conns;
	/* The input is a recording: calls of connections that are not selected are left out. */
	bool recorded;
	struct strbuf lines;      /* lines of JSON of the log of calls */
	struct conns_metrics metrics; /* opened by the caller, or not */
};

/*
 * Opens the output; `options` must outlive `view`. `count`: number of intervals to show; 0: all.
 * With --follow, all intervals of the connection are shown at the end. Returns 0, or -errno after a
 * message. The caller calls conns_view_release() in either case.
 */
int conns_view_open(struct conns_view *view, const struct common_options *common,
		    const struct conns_options *options, uint64_t count);

/*
 * Analyzes a block and shows each interval that it completes: feed() of struct live_watch_config.
 * `view` is a struct conns_view. Returns 0, 1 after `count` intervals, or -errno (-ECANCELED:
 * logged).
 */
int conns_view_feed(void *view, const struct event_block *block);

/* Chooses connections for the log of calls: `choose` of struct conns_live_config. */
int conns_view_choose(void *view, int (*chosen)(void *to, uint64_t cookie), void *to);

/*
 * Ends the output; prints the totals over all intervals, except as JSON lines or if an undamaged
 * run's text has shown them already.
 * `damage`: damage of the input, or NULL. `record_error`: -errno if the recording is incomplete, or
 * 0. Returns an enum exit_code.
 */
int conns_view_close(struct conns_view *view, const struct event_damage *damage, int record_error);
void conns_view_release(struct conns_view *view);

#endif
