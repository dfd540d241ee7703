/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains: the clock from which a time was read. A time without its domain means nothing. Times of
 * two domains are compared only by clock/reconcile.h or clock/convert.h, which also bound the
 * error.
 */
#ifndef HOSTLAT_CLOCK_DOMAIN_H
#define HOSTLAT_CLOCK_DOMAIN_H

/* Files store these numbers: never change them. */
enum clock_domain {
	DOMAIN_NONE = 0,
	DOMAIN_MONO = 1,     /* CLOCK_MONOTONIC: bpf_ktime_get_ns(); conversions go through it */
	DOMAIN_RAW = 2,      /* CLOCK_MONOTONIC_RAW: not slewed by NTP */
	DOMAIN_REALTIME = 3, /* CLOCK_REALTIME: the kernel's receive stamps */
	DOMAIN_TAI = 4,      /* CLOCK_TAI: realtime plus the kernel's TAI offset */
	DOMAIN_BOOTTIME = 5, /* CLOCK_BOOTTIME: monotonic plus time in suspend */
	DOMAIN_TSC = 6,      /* ticks of the x86 time stamp counter, not nanoseconds */
	DOMAIN_NIC = 7,      /* a network card's clock */
	DOMAIN_FILE = 8,     /* the unit of a foreign file; known only to that file */
	DOMAIN_SCHED = 9,    /* sched_clock(): perf's stamps, and ftrace's default */
	DOMAIN_COUNT
};

#endif
