/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_OUTPUT_ASCII_H
#define HOSTLAT_OUTPUT_ASCII_H

#include "base/strbuf.h"

/* Appends `s` in ASCII: every other character that hostlat uses has a substitute of its width. */
void ascii_fold(const char *s, struct strbuf *out);

#endif
