/* SPDX-License-Identifier: Apache-2.0 */
/* The intervals of `conns`. */
#ifndef HOSTLAT_CMD_CONNS_VIEW_H
#define HOSTLAT_CMD_CONNS_VIEW_H

#include "cmd/interval_view.h"
#include "conns/conns.h"

struct conns_view {
	struct interval_view shown;
	struct interval_view_config config;
	struct conns *conns;
	bool recorded;            /* from a file: it may have logged calls of all connections */
	struct strbuf lines;      /* of the log of calls */
};

/*
 * Opens the output; `options` must live as long. `count`: how many intervals to show; 0 = all.
 * Whoever follows one connection gets all its intervals at the end. Returns 0 or -errno, with a
 * message. To be released in either case.
 */
int conns_view_open(struct conns_view *view, const struct common_options *common,
		    const struct conns_options *options, uint64_t count);

/*
 * Takes all of a block; shows each interval that closes. 1 once `count` has been shown, or -errno,
 * of which -ECANCELED has been said. `view` is a struct conns_view: see struct live_watch_config.
 */
int conns_view_feed(void *view, const struct event_block *block);

/* `choose` of struct conns_live_config; `view` as above. */
int conns_view_choose(void *view, int (*chosen)(void *to, uint64_t cookie), void *to);

/*
 * The end: damage of the source (NULL = it has none), and why a recording is not whole (0 = it is).
 * Prints the totals where they are due. Returns an enum exit_code.
 */
int conns_view_close(struct conns_view *view, const struct event_damage *damage, int record_error);
void conns_view_release(struct conns_view *view);

#endif
