/* SPDX-License-Identifier: Apache-2.0 */
/* When requests are due: by --arrival, or as recorded (--replay). */
#ifndef HOSTLAT_CMD_LOAD_ARRIVAL_H
#define HOSTLAT_CMD_LOAD_ARRIVAL_H

#include "base/opt.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "load/arrival.h"

#define LOAD_ARRIVAL_DEFAULT "poisson"

/* Limits of the length of a run. */
#define LOAD_DURATION_MIN_NS (100 * NS_PER_MS)
#define LOAD_DURATION_MAX_NS NS_PER_DAY

/* Recorded requests; NULL: not given. */
struct load_replay_options {
	const char *file, *speed;
};

extern const struct opt load_replay_option_rows[];

#define OPTIONS_LOAD_REPLAY(config, member)                                                        \
	OPT_ROWS(config, member, struct load_replay_options, load_replay_option_rows)

#define LOAD_REPLAY_ROWS "replay,replay-speed"

/*
 * Finds and parses the arrival process: `arrival` (NULL: the default), or the recorded times of
 * `replay` unless it is NULL. `law`, of LOAD_LAW_MAX bytes, holds the text of the latter. *text
 * points to the text, and out->file into it. Returns 0, or -EINVAL with a sentence in `why`.
 */
int load_arrival_find(const char *arrival, const struct load_replay_options *replay, char *law,
		      const char **text, struct arrival *out, struct strbuf *why);

/*
 * Derives the rate and, unless *duration_ns is given, the length of the run from the arrival times
 * of a file. `ends`: the file is of recorded requests, and a run that is given a longer time ends
 * with it. Returns 0, or -errno with a sentence in `why`; -EINVAL, too, if the length is out of its
 * limits.
 */
int load_arrival_file_rate(const struct arrival *arrival, bool ends, uint64_t *duration_ns,
			   double *rate, struct strbuf *why);

#endif
