/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the last runs of a load were disturbed. Whoever repeats a run until it is sound measures
 * the quiet moments alone; so a sound run tells of the unsound ones before it.
 *
 * The file is $XDG_STATE_HOME/hostlat/load-runs, below ~/.local/state if that is not set: a line
 * for each run, "TIME VERDICT LOAD", with the time in s since 1970, the verdict "ok" or the codes
 * of the reasons ("host-noisy,not-converged"), and the load: rate, percentile, and the URL without
 * secrets. Only runs of one load are compared.
 */
#ifndef HOSTLAT_LOAD_HISTORY_H
#define HOSTLAT_LOAD_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "report/report.h"

#define LOAD_HISTORY_LINES 256u          /* lines of the file, at most; the oldest go first */
#define LOAD_HISTORY_SPAN_S (24u * 3600) /* older runs are not told */
#define LOAD_HISTORY_CODES 5             /* different reasons, at most */

/* A reason that comes with the moment, such as a noisy host. */
struct load_history_code {
	const char *code;
	uint32_t runs;
};

struct load_history {
	uint32_t runs, unsound;
	struct load_history_code codes[LOAD_HISTORY_CODES];
	uint32_t n_codes;
};

/* Counts the runs of `load` in the file's text, of the span before `now_s`. Skips other lines. */
void load_history_count(const char *text, const char *load, uint64_t now_s,
			struct load_history *h);

/* Appends the last lines of `text` and the line of a run: the text of the new file. */
void load_history_append(struct strbuf *out, const char *text, const char *load, uint64_t now_s,
			 const struct report *r);

/*
 * Adds to the report of a run that has just ended what the earlier ones were. If the run is sound,
 * there is a sentence about the unsound ones.
 */
void load_history_report(const struct load_history *h, struct report *r);

#endif
