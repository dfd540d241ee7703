/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the verdict and result.json from the recordings of `explain`. */
#ifndef HOSTLAT_CMD_EXPLAIN_RESULT_H
#define HOSTLAT_CMD_EXPLAIN_RESULT_H

#include "cmd/cmd.h"

/* File names in explain's folder. */
#define EXPLAIN_SERVER "server.hlat"  /* written by hostlat record */
#define EXPLAIN_CLIENT "client.hlat"  /* written by hostlat load */
#define EXPLAIN_WATCH "watch.json"
#define EXPLAIN_LOAD "load.json"
#define EXPLAIN_RESULT "result.json"
#define EXPLAIN_RATE "rate" /* only until it is read */
#define EXPLAIN_PAGE "report.html"   /* written by hostlat report, from result.json */

#define EXPLAIN_SCHEMA 1

struct explain_input {
	const char *folder;
	bool anew;           /* an earlier run is analyzed anew: its result.json stays as it is */
	const char *no_conns; /* why connections were not recorded; NULL: they were recorded */
	bool conns_failed;   /* connections could not be recorded, although recording was tried */
};

/*
 * Diagnoses the slowest hundredth of the server's messages, joins the slowest hundredth of the
 * requests and the limits of the connections to them, writes result.json and prints the verdict.
 * Returns an exit code.
 */
int explain_result(const struct explain_input *input, const struct common_options *common);

#endif
