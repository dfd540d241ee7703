/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load of all CPUs of the host together, from the kernel's counters: proc(5) on /proc/stat,
 * Documentation/accounting/psi.rst, net/core/net-procfs.c. Unreadable counters are unknown, not 0.
 */
#ifndef HOSTLAT_HOST_PRESSURE_H
#define HOSTLAT_HOST_PRESSURE_H

#include "host/root.h"

struct host_pressure {
	bool busy_known, stall_known;
	uint64_t busy_ns;      /* time neither idle nor waiting for a disk; in steps of a tick */
	uint64_t stall_ns;     /* time in which a task waited for a CPU: PSI's "some" */
	uint32_t packets;      /* number of received packets, modulo 2^32 */
	uint32_t packets_cpus; /* number of CPUs whose packets were counted; 0: unknown */
};

/* Reads the counters: three small files, about 0.1 ms if there are many interrupts. */
void host_pressure_read(const struct host_root *root, struct host_pressure *out);

/*
 * Computes the increase from `before` to `now`. Values are unknown if either lacks them or if they
 * decreased; packet counts also if a CPU came or went.
 */
void host_pressure_since(const struct host_pressure *before, const struct host_pressure *now,
			 struct host_pressure *out);

#endif
