/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a stream of intervals is shown: text per interval (a table that is redrawn on a terminal,
 * one below the other elsewhere), one JSON line each, or one JSON document at the end.
 */
#ifndef HOSTLAT_CMD_INTERVAL_VIEW_H
#define HOSTLAT_CMD_INTERVAL_VIEW_H

#include "base/outfile.h"
#include "cmd/cmd.h"
#include "cmd/run_facts.h"
#include "event/source.h"
#include "output/terminal.h"

/* `ended` of struct interval_view */
#define RECORD_ENDED_FULL "size-limit"

enum interval_span { SPAN_INTERVAL, SPAN_TOTAL };

struct interval_view_config {
	const struct common_options *common;
	const char *command;   /* name of the command */
	int schema;            /* version of the JSON document */
	uint64_t count;        /* how many intervals to show; 0 = all */
	bool cumulative;       /* show the totals at each interval */
	bool totals_only;      /* show nothing before the end */
	/* Fills in what the analysis has; 0 or -errno. */
	int (*report)(void *analysis, enum interval_span span, struct report *report);
};

struct interval_view {
	const struct interval_view_config *config;
	void *analysis;
	struct outfile out;
	struct live_table live;
	struct text_style style;
	struct strbuf text;
	bool terminal;
	bool reader_gone;      /* the other end of the output's pipe is closed */
	const char *ended;     /* why the recording ended, for the result; NULL: not reported */
	uint64_t intervals;    /* intervals shown so far */
	struct provenance who; /* from the stream's facts */
	struct run_facts facts;
};

/*
 * Opens the output. `config` and `analysis`, which is passed to its report(), must live as long.
 * Returns 0 or -errno, with a message. To be released in either case.
 */
int interval_view_open(struct interval_view *view, const struct interval_view_config *config,
		       void *analysis);
void interval_view_release(struct interval_view *view);

/* Reads host and start of the run from a fact. Ignores other events. */
void interval_view_fact(struct interval_view *view, const struct event *event);

/* Returns 0, 1 if the pipe's reader has gone away, which ends the run, or -ECANCELED: reported. */
int interval_view_write(struct interval_view *view, const struct strbuf *text);

/*
 * An interval is complete. Returns 1 once `count` intervals are or the pipe's reader has gone away,
 * or -errno; -ECANCELED is reported already.
 */
int interval_view_closed(struct interval_view *view);

/*
 * The end: whether the source is damaged, which the report says, and why a recording is not whole
 * (0 = it is). Prints the totals where they are due. Returns an enum exit_code.
 */
int interval_view_close(struct interval_view *view, bool damaged, int record_error);

#endif
