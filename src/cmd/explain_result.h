/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the verdict and result.json from the recordings of `explain`. */
#ifndef HOSTLAT_CMD_EXPLAIN_RESULT_H
#define HOSTLAT_CMD_EXPLAIN_RESULT_H

#include "cmd/cmd.h"

/* Files in explain's folder. */
#define EXPLAIN_SERVER "server.hlat"  /* by hostlat record */
#define EXPLAIN_CLIENT "client.hlat"  /* by hostlat load */
#define EXPLAIN_WATCH "watch.json"
#define EXPLAIN_LOAD "load.json"
#define EXPLAIN_RESULT "result.json"
#define EXPLAIN_PAGE "report.html"   /* by hostlat report, from result.json */

#define EXPLAIN_SCHEMA 1

struct explain_input {
	const char *folder;
	bool anew;           /* result.json exists and is not written again */
	const char *no_conns; /* why connections were not recorded; NULL: they were */
	bool conns_failed;   /* recording them was tried and failed */
};

/*
 * Diagnoses the slowest hundredth of the server's messages, joins the slowest hundredth of the
 * requests and the limits of the connections to them, writes result.json and prints the verdict.
 * Returns an exit code.
 */
int explain_result(const struct explain_input *input, const struct common_options *common);

#endif
