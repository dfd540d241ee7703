/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live run of the watch probe, for `watch` and `record`: what is measured is handed on interval
 * by interval, and recorded if there is a file.
 */
#ifndef HOSTLAT_CMD_SESSION_H
#define HOSTLAT_CMD_SESSION_H

#include "base/opt.h"
#include "event/source.h"

/* What to measure. The rows of these options are shared. */
struct probe_options {
	uint64_t stages;      /* mask of 1 << enum stage; 0: not asked, see session_stages() */
	uint32_t origin;      /* enum origin; ORIGIN_NONE: by packet */
	uint32_t backend;     /* enum watch_backend */
	uint32_t hol;         /* enum hol */
	uint64_t pid, port;
	const char *ifname, *netns;
	uint64_t slower_than_ns; /* 0: slow messages aren't told of one by one */
	uint64_t memory;
};

extern const struct opt probe_option_rows[];

/* What is measured live if --stages doesn't say. A recording is shown with all that it has. */
uint64_t session_stages(const struct probe_options *options);

#define OPTIONS_PROBE(config, member)                                                              \
	OPT_ROWS(config, member, struct probe_options, probe_option_rows)

struct session_config {
	const struct probe_options *probe;
	uint64_t interval_ns;
	uint64_t duration_ns;    /* 0: until stopped */
	const char *record;      /* file, or NULL */
	uint64_t size_limit;     /* of that file, which ends the run; 0 = none */
	int result_fd;           /* where the result is written: not the recording's place */
	/*
	 * Takes each block. 1 ends the run, -errno fails it; -ECANCELED: the message has been
	 * printed. NULL: nobody looks.
	 */
	int (*take)(void *ctx, const struct event_block *block);
	void *ctx;
};

enum session_end { SESSION_STOPPED, SESSION_TIME, SESSION_COUNT, SESSION_FULL };

struct session_result {
	enum session_end end;    /* what ended it */
	int record_error;        /* -errno: the recording is not whole, and why */
	uint64_t recorded_bytes;
};

/* Runs until stopped. Returns EXIT_OK or, after a message, EXIT_USAGE or EXIT_CANNOT. */
int session_run(const struct session_config *config, struct session_result *result);

/*
 * A recording measured what it measured: with --from, options that ask for something else are
 * refused. Compares a fact of the file with the options; returns the name of the option that
 * differs, or NULL.
 */
const char *session_fact_differs(const struct probe_options *options, const char *key,
				 const char *value);

/*
 * The same at the end of the facts: `recorded` has the keys that were there, each as a bit of
 * session_fact_bit(). The option that asks for what no fact names, or NULL.
 */
const char *session_fact_missing(const struct probe_options *options, uint32_t recorded);
uint32_t session_fact_bit(const char *key);

#endif
