/* SPDX-License-Identifier: Apache-2.0 */
/* The file of earlier runs of `load`: load/history.h. */
#ifndef HOSTLAT_CMD_LOAD_EARLIER_H
#define HOSTLAT_CMD_LOAD_EARLIER_H

#include "report/report.h"

/*
 * Adds to the report of a run that has just ended what the earlier ones of `load` were, and the
 * run to the file. Without a file that can be read and written there is no history, and no error.
 */
void load_earlier_report(const char *load, struct report *r);

#endif
