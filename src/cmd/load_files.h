/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output files of a run of `load` besides its result: every request as a line of CSV
 * (--samples), the latencies of each second as an HdrHistogram log (--hdr), and the CCDF (--ccdf).
 * After an error, reported once, a file is not written any further.
 */
#ifndef HOSTLAT_CMD_LOAD_FILES_H
#define HOSTLAT_CMD_LOAD_FILES_H

#include "base/outfile.h"
#include "base/strbuf.h"
#include "cmd/run_facts.h"
#include "event/source.h"
#include "load/analysis.h"
#include "load/sample_csv.h"
#include "output/hdr.h"

struct load_file {
	const char *path;   /* NULL: not requested */
	const char *what;
	struct outfile out;
	struct strbuf text; /* not yet written */
	int error;          /* why it is incomplete: -errno, or 0 */
};

struct load_files {
	struct load_file samples, log, ccdf;
	struct sample_csv csv;
	struct hdr hdr;                           /* histogram of the current interval */
	struct run_facts facts;
	bool closed_loop;                         /* latencies start at the actual send */
	bool probes;                  /* there are latency agents: only their requests count */
	/* start of the schedule and of the interval; 0: not yet */
	uint64_t started_ns, from_ns;
};

/* Opens the files; a path of NULL means none. Returns 0 or, after a message, -errno. */
int load_files_open(struct load_files *files, const char *samples, const char *hdr,
		    const char *ccdf);

/* Adds a block of any kind. Returns 0 or -ENOMEM. */
int load_files_add(struct load_files *files, const struct event_block *block);

/*
 * Completes the files; `analysis` is finished, or NULL for no CCDF. Errors are in their `error`,
 * and were reported.
 */
void load_files_close(struct load_files *files, const struct load_analysis *analysis);
void load_files_release(struct load_files *files);

#endif
