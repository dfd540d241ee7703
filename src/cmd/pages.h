/* SPDX-License-Identifier: Apache-2.0 */
/* The man pages that are not of one command: hostlat-causes(7) and others. */
#ifndef HOSTLAT_CMD_PAGES_H
#define HOSTLAT_CMD_PAGES_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "cmd/cmd.h"

/*
 * Appends how to read the page of a name such as "fleet", "store" or "hostlat-store": "man
 * hostlat-store". Returns false if there is no such page.
 */
bool pages_put(const struct command *const *table, const char *name, struct strbuf *out);

#endif
