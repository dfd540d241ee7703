/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads from files: a setting in each line, "key: value" or "key = value", blank lines and
 * comments after "#". So YAML with one mapping of plain values is read, and no other YAML.
 */
#ifndef HOSTLAT_LOAD_WORKLOAD_FILE_H
#define HOSTLAT_LOAD_WORKLOAD_FILE_H

#include <stddef.h>

#include "base/strbuf.h"
#include "load/workload_set.h"

/*
 * Returns 0, -ENOMEM, or -EINVAL and, in `why`, a sentence with the file's `name` and the line.
 * `text` holds `size` bytes and a NUL behind them.
 */
int workload_file_parse(struct workload_settings *settings, const char *name, const char *text,
			size_t size, struct strbuf *why);

#endif
