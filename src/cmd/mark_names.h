/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the name of an application's mark (USDT probe): [PATH:]PROVIDER:NAME. */
#ifndef HOSTLAT_CMD_MARK_NAMES_H
#define HOSTLAT_CMD_MARK_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/packet/pkt_config.h"

#define MARK_TEXT 4352

/*
 * Splits the mark `text` into path, provider and name, which point into `buf` (MARK_TEXT bytes).
 * mark->path is NULL if `text` has no path. Returns false if `text` is not a mark.
 */
bool mark_parse(const char *text, char *buf, struct pkt_mark *mark);

#define MARK_PATH (MARK_TEXT + 32)

/*
 * Returns the path by which this process opens the file `path` of process `pid`: below
 * /proc/PID/root, in `buf` of MARK_PATH bytes, as a container has its own root. Returns `path`
 * itself without a `pid`, or if it is relative or in /proc.
 */
const char *mark_path(const char *path, uint64_t pid, char *buf);

#endif
