/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which clock a time was read from. A time without its domain means nothing, and times of two
 * domains meet only through clock/reconcile.h or clock/convert.h, which say how wrong the result
 * may be.
 */
#ifndef HOSTLAT_CLOCK_DOMAIN_H
#define HOSTLAT_CLOCK_DOMAIN_H

/* The numbers are stored in files: never renumber. */
enum clock_domain {
	DOMAIN_NONE = 0,
	DOMAIN_MONO = 1,     /* CLOCK_MONOTONIC: bpf_ktime_get_ns(), and the hub of conversions */
	DOMAIN_RAW = 2,      /* CLOCK_MONOTONIC_RAW: not slewed by NTP */
	DOMAIN_REALTIME = 3, /* CLOCK_REALTIME: the kernel's receive stamps */
	DOMAIN_TAI = 4,      /* CLOCK_TAI: realtime plus the kernel's TAI offset */
	DOMAIN_BOOTTIME = 5, /* CLOCK_BOOTTIME: monotonic plus time asleep */
	DOMAIN_TSC = 6,      /* ticks of the x86 time stamp counter, not nanoseconds */
	DOMAIN_NIC = 7,      /* a network card's clock */
	DOMAIN_FILE = 8,     /* whatever a foreign file counts in; known only to that file */
	DOMAIN_SCHED = 9,    /* sched_clock(): perf's stamps, and ftrace's by default */
	DOMAIN_COUNT
};

#endif
