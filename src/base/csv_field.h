/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of CSV (RFC 4180). */
#ifndef HOSTLAT_BASE_CSV_FIELD_H
#define HOSTLAT_BASE_CSV_FIELD_H

#include "base/strbuf.h"

/*
 * Appends a field: if needed in quotes, with quotes doubled. Each byte that is not UTF-8 becomes
 * U+FFFD: many readers refuse a whole file for one such byte.
 */
void csv_field_put(struct strbuf *out, const char *text);

#endif
