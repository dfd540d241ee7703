/* SPDX-License-Identifier: Apache-2.0 */
/* The result of hostlat fleet ingest. */
#ifndef HOSTLAT_CMD_FLEET_INGEST_REPORT_H
#define HOSTLAT_CMD_FLEET_INGEST_REPORT_H

#include "cmd/cmd.h"

/* The outcome of one file. */
struct ingest_file {
	const char *path;
	char host[256];
	uint64_t from_ns, to_ns;
	uint64_t windows, stored, rows;
	uint64_t bytes, time_ns;      /* size of the rows that were stored, and their time */
	uint64_t renamed;             /* windows whose names of applications were others */
	bool keeps_names;             /* the store has names of a table that was not given now */
	bool damaged;
	int code;
};

/* Prints what became of n files. Returns an enum exit_code. */
int ingest_report(const struct common_options *common, const struct ingest_file *files, uint32_t n);

#endif
