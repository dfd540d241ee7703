/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a string of JSON (RFC 8259) in place. */
#ifndef HOSTLAT_FLEET_JSON_STRING_H
#define HOSTLAT_FLEET_JSON_STRING_H

#include "fleet/csv.h"

/*
 * Reads the string at the opening quote of `text` and moves behind its closing quote. Its
 * characters are written to *to, which must not be behind the quote, and *to moves behind them;
 * no NUL is written. Bytes beyond ASCII are copied, whether they are UTF-8 or not. Returns 0, or
 * -EINVAL: `why` and the place are set.
 */
int json_string_read(struct csv *text, char **to);

#endif
