/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP statuses that count as success (--expect). */
#ifndef HOSTLAT_LOAD_STATUSES_H
#define HOSTLAT_LOAD_STATUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define STATUSES_TAKES "statuses from 200 to 599, or classes of them, such as 200,404 or 2xx"

struct statuses {
	bool given;
	uint64_t bits[10]; /* bit mask of statuses 0 to 639 */
};

/*
 * Parses a list of HTTP statuses; `text` is NULL without --expect. Returns 0, or -EINVAL with a
 * sentence in `why`.
 */
int statuses_parse(const char *text, struct statuses *out, struct strbuf *why);

static inline bool statuses_has(const struct statuses *s, uint16_t status)
{
	return status < 640 && s->bits[status / 64] >> (status % 64) & 1;
}

#endif
