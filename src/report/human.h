/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How numbers are written for people, in sentences and in tables alike: 0.3 µs, 18 204,
 * 96 %. UTF-8; src/output folds it to ASCII where the terminal asks for that.
 */
#ifndef HOSTLAT_REPORT_HUMAN_H
#define HOSTLAT_REPORT_HUMAN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Holds any number in any unit with its separators, and the NUL. */
#define HUMAN_MAX 40

/* All return `buf`, which holds HUMAN_MAX bytes. */

/* One decimal below 10 of a unit, none from there on: 312 ns, 4.4 µs, 21 µs, 3.1 ms, 1.0 s. */
const char *human_ns(char *buf, uint64_t ns);
const char *human_sns(char *buf, int64_t ns);
/* Groups of three digits: 18 204. */
const char *human_count(char *buf, uint64_t n);
/* The count with its noun, whose plural ends in "s": 1 message, 18 204 messages. */
const char *human_counted(char *buf, uint64_t n, const char *noun);
/* The same with its verb: 1 message was, 18 204 messages were. */
const char *human_were(char *buf, uint64_t n, const char *noun);
/* Per second, rounded to a whole number from 10 on; below, two digits that count: 0.25, 1.5. */
const char *human_rate(char *buf, double rate);
/* 0..1 as percent: 0 %, 0.3 %, 9 %, 96 %; what is not quite nothing is never 0: <0.1 %. */
const char *human_fraction(char *buf, double fraction);

/*
 * A time in ns since 1970 as of ISO 8601, UTC, cut after `digits` (0 to 9) of a second:
 * 2026-11-20T12:00:03.250Z, or without the date 12:00:03.250Z. Returns `buf`, which holds
 * HUMAN_MAX bytes.
 */
const char *human_utc(char *buf, uint64_t realtime_ns, unsigned int digits, bool date);

/* Holds any address and port, and the NUL. */
#define HUMAN_ADDRESS_MAX (INET6_ADDRSTRLEN + 8)

/*
 * 192.0.2.1:80, [2001:db8::1]:80. `family` is AF_INET or AF_INET6 and `address` in network order,
 * the port in the host's. Returns `buf`, which holds HUMAN_ADDRESS_MAX bytes; NULL for another
 * family.
 */
const char *human_address(char *buf, int family, const void *address, uint16_t port);

#endif
