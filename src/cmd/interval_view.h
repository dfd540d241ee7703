/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a sequence of intervals: as text (redrawn in place on a terminal, otherwise one after the
 * other), as one JSON line per interval, or as one JSON document at the end.
 */
#ifndef HOSTLAT_CMD_INTERVAL_VIEW_H
#define HOSTLAT_CMD_INTERVAL_VIEW_H

#include "base/keys.h"
#include "base/outfile.h"
#include "cmd/cmd.h"
#include "cmd/run_facts.h"
#include "event/source.h"
#include "output/terminal.h"

/* Value of `ended` of struct interval_view: the recording reached its size limit. */
#define RECORD_ENDED_FULL "size-limit"

enum interval_span { SPAN_INTERVAL, SPAN_TOTAL };

struct interval_view_config {
	const struct common_options *common;
	const char *command;   /* name of the command, such as "watch" */
	int schema;            /* schema version of the JSON document */
	uint64_t count;        /* number of intervals to show; 0: all */
	bool cumulative;       /* show the totals so far at each interval */
	bool totals_only;      /* show only the totals, at the end */
	bool findings_first;   /* on a terminal, show the findings right below the title */
	/* Fills in the analysis's part of the report for this span. Returns 0 or -errno. */
	int (*report)(void *analysis, enum interval_span span, struct report *report);
};

struct interval_view {
	const struct interval_view_config *config;
	void *analysis;
	struct outfile out;
	struct live_table live;
	struct keys keys;      /* zeroed: no keys are read */
	bool paused, helps;    /* intervals are not drawn, or help in their place */
	struct report kept;    /* the last interval, drawn again for keys; valid if `any` */
	bool any;
	struct text_style style;
	struct strbuf text;
	bool terminal;
	bool reader_gone;      /* the reader of the output pipe has exited */
	const char *ended;     /* why the recording ended, shown in the result; NULL: not shown */
	uint64_t intervals;    /* number of intervals shown so far */
	struct provenance who; /* host and command of the run, from the recorded facts */
	struct run_facts facts;
};

/*
 * Opens the output. `config` and `analysis` (argument of config->report()) must outlive `view`.
 * Returns 0, or -errno after a message. interval_view_release() follows in either case.
 */
int interval_view_open(struct interval_view *view, const struct interval_view_config *config,
		       void *analysis);
void interval_view_release(struct interval_view *view);

/*
 * Begins to read keys if intervals are drawn on a terminal; a failure is only a warning. Call it
 * before any thread is created.
 */
void interval_view_take_keys(struct interval_view *view);

/*
 * Obeys the keys that have come: `view` is a struct interval_view. Returns 0, 1 to end the run, or
 * -errno (-ECANCELED: already logged).
 */
int interval_view_obey_keys(void *view);

/* Reads host and start time of the run from a fact event. Ignores other events. */
void interval_view_fact(struct interval_view *view, const struct event *event);

/*
 * Writes `text` to the output. Returns 0, 1 if the reader of the output pipe has exited, which ends
 * the run, or -ECANCELED after a message.
 */
int interval_view_write(struct interval_view *view, const struct strbuf *text);

/*
 * Shows the interval that the analysis has just completed. Returns 0, 1 once `count` intervals are
 * complete or the reader of the output pipe has exited, or -errno (-ECANCELED: already logged).
 */
int interval_view_closed(struct interval_view *view);

/*
 * Ends the output; prints the totals over all intervals, except as JSON lines or if an undamaged
 * run's text has shown them already.
 * `damaged`: the input is damaged, which the report mentions. `record_error`: -errno if the
 * recording is incomplete, or 0. Returns an enum exit_code.
 */
int interval_view_close(struct interval_view *view, bool damaged, int record_error);

#endif
