/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The kernel's clock types, with the members that programs read. CO-RE relocates each access. */
#ifndef HOSTLAT_BPF_KERNEL_TIMEKEEPER_H
#define HOSTLAT_BPF_KERNEL_TIMEKEEPER_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct clocksource {
	const char *name;
};

struct tk_read_base {
	struct clocksource *clock;
	__u64 cycle_last;
	__u32 mult;
	__u32 shift;
	__u64 xtime_nsec;
	__s64 base;
};

struct timekeeper {
	struct tk_read_base tkr_mono;
	__s64 offs_real;
	__s64 offs_tai;
};

/* Since 6.17 there are several timekeepers: `id` 0 is that of the system's clocks. */
struct timekeeper___many {
	unsigned int id;
};

#pragma clang attribute pop

#endif
