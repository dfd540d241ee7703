/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a stream of intervals is shown: text per interval (a table that is redrawn on a terminal,
 * one below the other elsewhere), one JSON line each, or one JSON document at the end.
 */
#ifndef HOSTLAT_CMD_WATCH_VIEW_H
#define HOSTLAT_CMD_WATCH_VIEW_H

#include "base/outfile.h"
#include "cmd/cmd.h"
#include "event/source.h"
#include "output/terminal.h"
#include "watch/watch.h"

struct watch_view {
	const struct common_options *common;
	struct watch *watch;
	struct event_dict *dict;
	struct outfile out;
	struct live_table live;
	struct text_style style;
	struct strbuf text;
	bool terminal;
	bool cumulative;       /* show the totals at each interval */
	uint64_t intervals;    /* shown so far */
	uint64_t count;        /* how many to show; 0 = all */
	struct provenance who; /* from the stream's facts */
	char host[256], version[64];
};

/* Opens the output. `stages`: see watch_new(). Returns 0 or -errno, with a message. */
int watch_view_open(struct watch_view *view, const struct common_options *common, uint64_t stages,
		    bool cumulative, uint64_t count);

/* Takes all records of a block; shows each interval that closes. 1 once `count` has been shown. */
int watch_view_block(struct watch_view *view, const struct event_block *block);

/*
 * The end: damage of the source, and why a recording is not whole (0 = it is). Prints the totals
 * where they are due. Returns an enum exit_code.
 */
int watch_view_close(struct watch_view *view, const struct event_damage *damage, int record_error);
void watch_view_release(struct watch_view *view);

/* Facts that a stream begins with, so that it can be shown again as the same run. */
#define FACT_VERSION "run.version"
#define FACT_HOST "run.host"
#define FACT_STARTED "run.started_ns"

#endif
