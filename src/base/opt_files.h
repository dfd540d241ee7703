/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command line names. */
#ifndef HOSTLAT_BASE_OPT_FILES_H
#define HOSTLAT_BASE_OPT_FILES_H

#include "base/opt_row.h"

/*
 * Returns a path that is read and would be written, however it is spelled, or NULL: the value of a
 * row with `file` of OPT_OUTPUT, and of one of another group. It is as long valid as the config.
 */
const char *opt_files_clash(const struct opt_table *table, const void *config);

#endif
