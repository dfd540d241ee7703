/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load of all CPUs of the host together, from the kernel's counters: proc(5) on /proc/stat,
 * Documentation/accounting/psi.rst, net/core/net-procfs.c. What can't be read is unknown, not 0.
 */
#ifndef HOSTLAT_HOST_PRESSURE_H
#define HOSTLAT_HOST_PRESSURE_H

#include "host/root.h"

struct host_pressure {
	bool busy_known, stall_known;
	uint64_t busy_ns;      /* not idle, nor waiting for a disk; in steps of a clock tick */
	uint64_t stall_ns;     /* time in which a task waited for a CPU: PSI's "some" */
	uint32_t packets;      /* received packets, modulo 2^32 */
	uint32_t packets_cpus; /* CPUs whose packets were counted; 0: unknown */
};

/* Reads the counters: three small files, some 0.1 ms where there are many interrupts. */
void host_pressure_read(const struct host_root *root, struct host_pressure *out);

/*
 * Computes the increase from `before` to `now`. Unknown are values that either lacks, that went
 * backwards, and packet counts if a CPU came or went.
 */
void host_pressure_since(const struct host_pressure *before, const struct host_pressure *now,
			 struct host_pressure *out);

#endif
