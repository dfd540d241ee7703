/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats numbers for people, the same in sentences and tables: 0.3 µs, 18 204, 96 %. UTF-8;
 * src/output converts text to ASCII for terminals without UTF-8.
 */
#ifndef HOSTLAT_REPORT_HUMAN_H
#define HOSTLAT_REPORT_HUMAN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes for any number in any unit with its separators, and the NUL. */
#define HUMAN_MAX 40

/* All functions return `buf`, which has HUMAN_MAX bytes. */

/* Formats a time, with one decimal below 10 of its unit: 312 ns, 4.4 µs, 21 µs, 3.1 ms, 1.0 s. */
const char *human_ns(char *buf, uint64_t ns);
const char *human_sns(char *buf, int64_t ns);
/* Groups digits by three: 18 204. */
const char *human_count(char *buf, uint64_t n);
/* Adds the noun to a count; the plural adds "s": 1 message, 18 204 messages. */
const char *human_counted(char *buf, uint64_t n, const char *noun);
/* Adds noun and verb to a count: 1 message was, 18 204 messages were. */
const char *human_were(char *buf, uint64_t n, const char *noun);
/* Rate per second, a whole number from 10 on; below, two significant digits: 0.25, 1.5. */
const char *human_rate(char *buf, double rate);
/* A fraction 0..1 as percent: 0 %, 0.3 %, 9 %, 96 %; above 0 never "0 %": <0.1 %. */
const char *human_fraction(char *buf, double fraction);

/*
 * Formats ns since 1970 as ISO 8601, UTC, truncated to `digits` (0 to 9) of a second:
 * 2026-11-20T12:00:03.250Z, or without the date 12:00:03.250Z. Returns `buf`, which has HUMAN_MAX
 * bytes.
 */
const char *human_utc(char *buf, uint64_t realtime_ns, unsigned int digits, bool date);

/* Bytes for any address and port, and the NUL. */
#define HUMAN_ADDRESS_MAX (INET6_ADDRSTRLEN + 8)

/*
 * Formats 192.0.2.1:80, [2001:db8::1]:80. `family` is AF_INET or AF_INET6, `address` in network
 * order, `port` in host order. Returns `buf`, which has HUMAN_ADDRESS_MAX bytes; NULL for other
 * families.
 */
const char *human_address(char *buf, int family, const void *address, uint16_t port);

#endif
