/* SPDX-License-Identifier: Apache-2.0 */
/* As connections stand, for people: what the kernel's tcp_info has of them, as it is. */
#ifndef HOSTLAT_CONNS_INFO_H
#define HOSTLAT_CONNS_INFO_H

#include "conns/shown.h"

/* Adds a table to the report's body: the first so many, whether they have problems or not. */
void info_table(const struct conns *c, const struct conns_shown *s, size_t rows, struct report *r);

#endif
