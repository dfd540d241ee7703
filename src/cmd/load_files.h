/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The additional output files of a run of `load`: each request as a CSV line (--samples), the
 * latencies of each second as an HdrHistogram log (--hdr), and the CCDF (--ccdf). After an error,
 * which is logged once, a file is not written any further.
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
	const char *path;   /* path of the file; NULL: not requested */
	const char *what;
	struct outfile out;
	struct strbuf text; /* text not yet written to the file */
	int error;          /* 0, or -errno: the file is incomplete */
};

struct load_files {
	struct load_file samples, log, ccdf;
	struct sample_csv csv;
	struct hdr hdr;                           /* histogram of the current interval */
	struct run_facts facts;
	bool closed_loop;                         /* latencies start at the actual send */
	bool probes;                  /* there are latency agents: only their requests count */
	/* start of the schedule and of the current interval; 0: not started */
	uint64_t started_ns, from_ns;
};

/* Opens the files whose path is not NULL. Returns 0 or, after a message, -errno. */
int load_files_open(struct load_files *files, const char *samples, const char *hdr,
		    const char *ccdf);

/* Writes the data of a block, whatever its kind. Returns 0 or -ENOMEM. */
int load_files_add(struct load_files *files, const struct event_block *block);

/*
 * Completes the files. `analysis` is finished, or NULL: no CCDF is written. Errors are logged and
 * stored in `error` of each file.
 */
void load_files_close(struct load_files *files, const struct load_analysis *analysis);
void load_files_release(struct load_files *files);

#endif
