/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and prints a command's result (--json, --json-lines, --output). */
#ifndef HOSTLAT_CMD_RESULT_H
#define HOSTLAT_CMD_RESULT_H

#include "cmd/cmd.h"
#include "report/report.h"

/* Begins a report of this command on this host, now. report_release() must follow. */
void result_begin(struct report *report, const char *command, unsigned int schema);

/*
 * Prints the report in the chosen format, completely or not at all. Returns EXIT_OK, EXIT_PARTIAL
 * or, after a message, EXIT_CANNOT.
 */
int result_print(const struct report *report, const struct common_options *common);

#endif
