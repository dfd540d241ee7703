/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the metrics of a run of `conns` to a file (--metrics), as a whole each time. */
#ifndef HOSTLAT_CMD_CONNS_METRICS_H
#define HOSTLAT_CMD_CONNS_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "conns/app_counters.h"

/* Longest time in ns for which the file of a live run may be behind it. */
#define CONNS_METRICS_NS 5000000000u

struct conns_metrics {
	const char *path;        /* NULL: no metrics, and all functions do nothing */
	bool live;               /* the file is written again and again, not only at the end */
	bool failed;             /* the last write failed */
	uint64_t written_ns;     /* end of the last interval that was written */
	struct app_counters counters;
};

/*
 * Opens the metrics of a run; of a live one, writes the first page, so that a wrong path fails
 * early. `apps`: applications with counters of their own. Returns 0, or -errno after a message; the
 * caller calls conns_metrics_release() in either case.
 */
int conns_metrics_open(struct conns_metrics *metrics, const char *path, uint32_t apps,
		       struct conns *c, bool live);
void conns_metrics_release(struct conns_metrics *metrics);

/*
 * Counts the interval that has just closed. A live run goes on if the file cannot be written.
 * Returns 0 or -ENOMEM.
 */
int conns_metrics_interval(struct conns_metrics *metrics, struct conns *c);

/*
 * Writes the last page. `complete`: the run has ended, so that no further samples will come.
 * Returns 0, or -errno after a message.
 */
int conns_metrics_close(struct conns_metrics *metrics, const struct conns *c, bool complete);

#endif
