/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a stream of intervals is shown: text per interval (a table that is redrawn on a terminal,
 * one below the other elsewhere), one JSON line each, or one JSON document at the end.
 */
#ifndef HOSTLAT_CMD_WATCH_VIEW_H
#define HOSTLAT_CMD_WATCH_VIEW_H

#include "base/outfile.h"
#include "cmd/cmd.h"
#include "cmd/run_facts.h"
#include "event/source.h"
#include "output/terminal.h"
#include "watch/watch.h"

/* struct watch_view's `ended` */
#define RECORD_ENDED_FULL "size-limit"

struct watch_view_config {
	const struct common_options *common;
	const char *command;   /* whose result this is */
	uint64_t stages;       /* see watch_new() */
	uint64_t count;        /* how many intervals to show; 0 = all */
	bool cumulative;       /* show the totals at each interval */
	bool totals_only;      /* show nothing before the end */
};

struct watch_view {
	const struct watch_view_config *config;
	struct watch *watch;
	struct outfile out;
	struct live_table live;
	struct text_style style;
	struct strbuf text;
	bool terminal;
	const char *ended;     /* what ended a recording, for the result; NULL: not said */
	uint64_t intervals;    /* closed so far */
	struct provenance who; /* from the stream's facts */
	struct run_facts facts;
};

/* Opens the output. `config` must live as long. Returns 0 or -errno, with a message. */
int watch_view_open(struct watch_view *view, const struct watch_view_config *config);

/*
 * Takes all records of a block; shows each interval that closes. 1 once `count` has been shown, or
 * -errno. `view` is a struct watch_view: see struct session_config.
 */
int watch_view_take(void *view, const struct event_block *block);

/*
 * The end: damage of the source (NULL = it has none), and why a recording is not whole (0 = it is).
 * Prints the totals where they are due. Returns an enum exit_code.
 */
int watch_view_close(struct watch_view *view, const struct event_damage *damage, int record_error);
void watch_view_release(struct watch_view *view);

#endif
