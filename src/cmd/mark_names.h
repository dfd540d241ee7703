/* SPDX-License-Identifier: Apache-2.0 */
/* How a mark of an application is typed: [PATH:]PROVIDER:NAME. */
#ifndef HOSTLAT_CMD_MARK_NAMES_H
#define HOSTLAT_CMD_MARK_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/packet/pkt_config.h"

#define MARK_TEXT 4352

/* Takes it apart, in `buf` of MARK_TEXT bytes; path NULL: it has none. False: it is no mark. */
bool mark_parse(const char *text, char *buf, struct pkt_mark *mark);

#define MARK_PATH (MARK_TEXT + 32)

/*
 * Where the file is that process `pid` calls by this path: a container has a root of its own. In
 * `buf` of MARK_PATH bytes, or the path itself: of no process, in /proc, or a relative one.
 */
const char *mark_path(const char *path, uint64_t pid, char *buf);

#endif
