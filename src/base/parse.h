/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses numbers, units and addresses as people type them.
 *
 * The whole text must be consumed: no leading or trailing space, no sign, no garbage. Every parser
 * returns 0, -EINVAL (no such value) or -ERANGE (too large or too fine for the result), and does
 * not change the result when it fails. The PARSE_*_TAKES texts describe valid input. The format
 * functions write text that the parser of the same kind reads back exactly.
 */
#ifndef HOSTLAT_BASE_PARSE_H
#define HOSTLAT_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/strbuf.h"

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL
#define NS_PER_DAY (86400 * NS_PER_S)

#define PARSE_U64_TAKES "a whole number"
#define PARSE_DURATION_TAKES "a number and a unit (ns, us, ms, s, m, h, d)"
#define PARSE_SIZE_TAKES "a number of bytes, or one with K, M, G or T (powers of 1024)"
#define PARSE_FRACTION_TAKES "a fraction of one (1%, 1/64, 0.01)"
#define PARSE_RATE_TAKES "a number per second, or one with k or M (20000, 20k, 1.5M)"
#define PARSE_ONE_IN_TAKES "a share from 1/65536 to 1/1 (such as 1/64)"
#define PARSE_PERCENT_TAKES "a percentage between 0 and 100 (95, 99.9)"
#define PARSE_ENDPOINT_TAKES "an address and a port (127.0.0.1:9464, [::1]:9464)"

/*
 * Copies `text` without the blanks of a formula, "p99 < 2ms" as "p99<2ms". A blank between two
 * digits or two letters stays, since no parser here takes it. Returns 0, or -ERANGE if `out` is
 * full.
 */
int parse_drop_blanks(const char *text, char *out, size_t size);

/* Parses decimal digits. */
int parse_u64(const char *text, uint64_t *out);

/* Parses "100ms", "1.5s" into nanoseconds. The unit is mandatory; "0.5ns" is too fine: -ERANGE. */
int parse_duration(const char *text, uint64_t *ns);

/* Parses "4096", "64M", "1.5G", "64MiB" into bytes. */
int parse_size(const char *text, uint64_t *bytes);

/* Parses "1%", "1/64", "0.01" into a fraction, 0 to 1 inclusive. */
int parse_fraction(const char *text, double *out);

/* Parses "20000", "20k", "1.5M" (powers of 1000) into a rate per second, above 0. */
int parse_rate(const char *text, double *out);

/* Parses "99", "99.9", "99.9%" into a fraction between 0 and 1, exclusive. */
int parse_percent(const char *text, double *out);

/* Parses "1/64" into 64; 1 to 65536. */
int parse_one_in(const char *text, uint64_t *out);

/* Parses "127.0.0.1:9464" or "[::1]:9464", port 0 to 65535, into a sockaddr_in or _in6. */
int parse_endpoint(const char *text, struct sockaddr_storage *out);

/* Returns true for '0' to '9', whatever the locale. */
static inline bool parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Write a value in the largest unit that divides it: 10000000 is "10ms", 1500000000 "1500ms". */
void format_duration(struct strbuf *sb, uint64_t ns);
void format_size(struct strbuf *sb, uint64_t bytes);

#endif
