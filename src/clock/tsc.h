/* SPDX-License-Identifier: Apache-2.0 */
/* The counter that an x86 CPU reads without the kernel; other architectures lack it. */
#ifndef HOSTLAT_CLOCK_TSC_H
#define HOSTLAT_CLOCK_TSC_H

#include <stdint.h>

#ifdef __x86_64__
#define CLOCK_HAS_TSC 1

/* Returns the TSC, in order: neither before earlier nor after later instructions. */
static inline uint64_t clock_tsc(void)
{
	uint64_t ticks;

	__builtin_ia32_lfence();
	ticks = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return ticks;
}
#else
#define CLOCK_HAS_TSC 0

static inline uint64_t clock_tsc(void)
{
	return 0;
}
#endif

#endif
