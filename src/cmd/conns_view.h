/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a stream of connections is shown: text per interval (a table that is redrawn on a terminal,
 * one below the other elsewhere), one JSON line each, or one JSON document at the end.
 */
#ifndef HOSTLAT_CMD_CONNS_VIEW_H
#define HOSTLAT_CMD_CONNS_VIEW_H

#include "base/outfile.h"
#include "cmd/cmd.h"
#include "cmd/run_facts.h"
#include "conns/conns.h"
#include "output/terminal.h"

struct conns_view_config {
	const struct common_options *common;
	const struct conns_options *options;
	uint64_t count;        /* how many intervals to show; 0 = all */
};

struct conns_view {
	const struct conns_view_config *config;
	struct conns *conns;
	struct outfile out;
	struct live_table live;
	struct text_style style;
	struct strbuf text;
	bool terminal;
	uint64_t intervals;    /* closed so far */
	struct provenance who; /* from the stream's facts */
	struct run_facts facts;
};

/* Opens the output. `config` must live as long. Returns 0 or -errno, with a message. */
int conns_view_open(struct conns_view *view, const struct conns_view_config *config);

/*
 * Takes all of a block; shows each interval that closes. 1 once `count` has been shown, or -errno,
 * of which -ECANCELED has been said. `view` is a struct conns_view: see struct session_config.
 */
int conns_view_take(void *view, const struct event_block *block);

/*
 * The end: damage of the source (NULL = it has none), and why a recording is not whole (0 = it is).
 * Prints the totals where they are due. Returns an enum exit_code.
 */
int conns_view_close(struct conns_view *view, const struct event_damage *damage, int record_error);
void conns_view_release(struct conns_view *view);

#endif
