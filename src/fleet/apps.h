/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which application a connection belongs to, by the rows of --apps: the first that fits decides.
 * The header row names the columns, in any order: `application` and one or more of
 *
 *	unit, cgroup, container, command   patterns: * is any text, ? any character
 *	port                               the listener's port, or the remote one
 *
 * An empty field fits everything. Instead, the table may be JSON: a list of objects with these
 * names, or an object with such a list, "applications" (fleet/json_rows.h).
 */
#ifndef HOSTLAT_FLEET_APPS_H
#define HOSTLAT_FLEET_APPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define APPS_ROWS_MAX 10000u

enum apps_text { APPS_UNIT, APPS_CGROUP, APPS_CONTAINER, APPS_COMMAND, APPS_TEXTS };

/* Facts by which a connection is recognized. */
struct apps_subject {
	const char *text[APPS_TEXTS]; /* NULL: unknown, which fits only an empty field */
	uint16_t port;
};

struct apps;

struct apps *apps_new(void);
void apps_free(struct apps *a);

/*
 * Reads a table: `len` bytes and a NUL, which are changed. Returns 0, -ENOMEM, or -EINVAL after
 * "FILE:LINE:COLUMN: what is wrong (what to do)" in `why`.
 */
int apps_read(struct apps *a, const char *file, char *text, size_t len, struct strbuf *why);

/* Returns the application's name, which belongs to `a`; NULL: no row fits. */
const char *apps_find(const struct apps *a, const struct apps_subject *subject);

#endif
