/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HdrHistogram's interval log, for other tools: a line per interval with the counts in its "V2"
 * encoding, deflated, in base 64. Format: HistogramLogWriter (log format version 1.3),
 * AbstractHistogram.encodeIntoCompressedByteBuffer and ZigZagEncoding of HdrHistogram 2.1.
 *
 * Values are 1 ns to an hour with three significant digits, as such tools expect: a linear scale of
 * 2048 steps per power of two, finer than 0.1 %. 0 counts as 0; more than an hour counts as an
 * hour.
 */
#ifndef HOSTLAT_OUTPUT_HDR_H
#define HOSTLAT_OUTPUT_HDR_H

#include <stdint.h>

#include "base/strbuf.h"

#define HDR_HIGHEST 3600000000000ULL /* an hour, in ns */

struct hdr {
	uint64_t *counts; /* counts by bucket; owned */
	uint64_t count, max;
};

/* Allocates the counts. Returns 0 or -ENOMEM; release in either case. */
int hdr_init(struct hdr *hdr);

/* Frees the counts. Accepts a zeroed struct. */
void hdr_release(struct hdr *hdr);

void hdr_record(struct hdr *hdr, uint64_t ns);

/* Appends the head of the log file; `started_ns` is in ns since 1970. */
void hdr_log_head(struct strbuf *out, const char *who, uint64_t started_ns);

/* Appends an interval's line (ns since the start), and removes the values. Returns 0 or -ENOMEM. */
int hdr_log_line(struct strbuf *out, struct hdr *hdr, uint64_t from_ns, uint64_t length_ns);

#endif
