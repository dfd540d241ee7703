/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions that end a run early (--abort-on 'errors>5%'). They compare counters, which are exact
 * at each tick of the load generator, and so need no confidence interval.
 *
 * A share is that of a sliding window: the last second, or longer until the window holds enough
 * requests for one failure alone not to exceed the limit, at least ABORT_ON_LEAST. The limit 0
 * means the first failure.
 */
#ifndef HOSTLAT_LOAD_ABORT_ON_H
#define HOSTLAT_LOAD_ABORT_ON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define ABORT_ON_TAKES                                                                             \
	"conditions errors>SHARE, timeouts>SHARE or unsent>SHARE, separated by commas, such as "   \
	"'errors>5%,unsent>50%'"

enum abort_on {
	ABORT_ON_ERRORS,   /* failed requests, of the requests that ended in the window */
	ABORT_ON_TIMEOUTS, /* requests without a reply in time, of the same requests */
	ABORT_ON_UNSENT,   /* requests that wait for a connection, of those due in the window */
	ABORT_ON_CONDITIONS,
};

struct abort_on_limits {
	double most[ABORT_ON_CONDITIONS]; /* largest share that is allowed, 0 to 1 */
	uint64_t given;                   /* bits of enum abort_on */
};

/*
 * Parses the text of --abort-on; `text` is NULL without it. Returns 0, or -EINVAL with a sentence
 * in `why`.
 */
int abort_on_parse(const char *text, struct abort_on_limits *out, struct strbuf *why);

/* Counters since the start of the run, over all agents. */
struct abort_on_counts {
	uint64_t at_ns; /* time since the start of the schedule */
	uint64_t scheduled, completed, failed, timeouts, unsent;
};

#define ABORT_ON_WINDOW_NS 1000000000ULL
#define ABORT_ON_LEAST 20
#define ABORT_ON_KEPT 64

/* The window of one condition: earlier values, of which the window begins at one. */
struct abort_on_window {
	struct abort_on_point {
		uint64_t at_ns, count, of;
	} kept[ABORT_ON_KEPT]; /* a ring; `made` values were put into it */
	uint64_t made;
};

struct abort_on_watch {
	struct abort_on_limits limits;
	struct abort_on_window windows[ABORT_ON_CONDITIONS];
	/* the condition that ended the run, and its window; `met` false: none so far */
	bool met;
	enum abort_on by;
	struct abort_on_point from, to;
};

void abort_on_init(struct abort_on_watch *watch, const struct abort_on_limits *limits);

/* Adds counters, in order of time. Returns whether a condition is met, now or earlier. */
bool abort_on_feed(struct abort_on_watch *watch, const struct abort_on_counts *counts);

/* Writes the condition that was met with its numbers, for a watch whose condition was met. */
void abort_on_evidence(const struct abort_on_watch *watch, struct strbuf *out);

#endif
