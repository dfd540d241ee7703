/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A class's shares in the intervals of a window, as text: "?*10 0*300 250 17*2" is ten unknown
 * intervals, 300 without the problem, one full of it, and two with 17/250. An interval has 0 to 250
 * or "?", and "*N" repeats it. The text ends with the last known interval; "" is all unknown.
 */
#ifndef HOSTLAT_STORE_SERIES_H
#define HOSTLAT_STORE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define SERIES_STEPS 250u
#define SERIES_UNKNOWN 255u

/* Appends the text. */
void series_write(struct strbuf *out, const uint8_t *cells, uint32_t n);

/* Reads a text into n cells. Returns 0, or -EINVAL for a text that is none or has more than n. */
int series_read(const char *text, uint8_t *cells, uint32_t n);

#endif
