/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of `load` leaves in files beside its result: every request as a line of CSV
 * (--samples), the latencies of each second for tools that read HdrHistogram's log (--hdr), and how
 * many took how long (--ccdf). A file that fails is said once and is not written any further.
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
	const char *path;   /* NULL: not asked for */
	const char *what;
	struct outfile out;
	struct strbuf text; /* not yet written */
	int error;          /* why it is not whole */
};

struct load_files {
	struct load_file samples, log, ccdf;
	struct sample_csv csv;
	struct hdr hdr;                           /* of the interval that goes on */
	struct run_facts facts;
	bool closed_loop;                         /* latencies count from the actual send */
	bool probes;                  /* there are latency agents: only theirs are latencies */
	uint64_t started_ns, from_ns;             /* of the schedule, of the interval; 0: not yet */
};

/* A path that is NULL: no such file. Returns 0 or, after a message, -errno. */
int load_files_open(struct load_files *files, const char *samples, const char *hdr,
		    const char *ccdf);

/* Takes a block of any kind. Returns 0 or -ENOMEM. */
int load_files_add(struct load_files *files, const struct event_block *block);

/*
 * Puts them in their place; `analysis` is finished, or NULL: then there is no CCDF. What went wrong
 * is in their `error`, and has been said.
 */
void load_files_close(struct load_files *files, const struct load_analysis *analysis);
void load_files_release(struct load_files *files);

#endif
