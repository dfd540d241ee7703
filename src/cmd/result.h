/* SPDX-License-Identifier: Apache-2.0 */
/* A command's result: who measured it, and where it goes (--json, --json-lines, --output). */
#ifndef HOSTLAT_CMD_RESULT_H
#define HOSTLAT_CMD_RESULT_H

#include "cmd/cmd.h"
#include "report/report.h"

/* Begins a report of this command on this host, now. To be released by report_release(). */
void result_begin(struct report *report, const char *command, unsigned int schema);

/*
 * Prints the report as the options say, whole or not at all. Returns EXIT_OK or
 * EXIT_PARTIAL, or, after a message, EXIT_CANNOT.
 */
int result_print(const struct report *report, const struct common_options *common);

#endif
