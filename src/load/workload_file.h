/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses workload files: one setting per line, "key: value" or "key = value", with blank lines and
 * comments after "#". A YAML file with one mapping of plain values is valid; other YAML is not.
 */
#ifndef HOSTLAT_LOAD_WORKLOAD_FILE_H
#define HOSTLAT_LOAD_WORKLOAD_FILE_H

#include <stddef.h>

#include "base/strbuf.h"
#include "load/workload_set.h"

/*
 * Parses `text` of `size` bytes and a NUL. Returns 0, -ENOMEM, or -EINVAL with a sentence in `why`
 * that contains the file's `name` and the line.
 */
int workload_file_parse(struct workload_settings *settings, const char *name, const char *text,
			size_t size, struct strbuf *why);

#endif
