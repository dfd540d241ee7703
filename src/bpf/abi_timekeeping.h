/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The kernel's clock parameters, one record per update (bpf/timekeeping.bpf.c). */
#ifndef HOSTLAT_BPF_ABI_TIMEKEEPING_H
#define HOSTLAT_BPF_ABI_TIMEKEEPING_H

#include <linux/types.h>

/* bytes; room for more than 1,000 updates; the kernel makes HZ updates per second */
#define TK_RING (256U << 10)

/* As struct tk_read_base: ns = base + (((ticks - cycle_last) * mult + xtime_nsec) >> shift). */
struct tk_line {
	__u64 cycle_last;
	__u64 xtime_nsec;
	__s64 base;
	__u32 mult;
	__u32 shift;
};

struct tk_update {
	__u64 seq;       /* number of the update, from 1; lost updates have numbers, too */
	__u64 before_ns; /* CLOCK_MONOTONIC by the old parameters, before and after the update */
	__u64 after_ns;
	struct tk_line mono;
	__s64 offs_real, offs_tai; /* realtime - monotonic and TAI - monotonic, ns */
	char clock[16];  /* the clocksource's name */
};

_Static_assert(sizeof(struct tk_update) == 88, "struct tk_update");

#endif
