/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_defaults.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <sys/random.h>

#include "load/config.h"

/* Mean latency, in seconds, that the default number of connections sustains. */
#define LATENCY_ALLOWED 0.005
#define CONNECTIONS_LEAST 32
#define CONNECTIONS_MOST 1024
#define RATE_PER_THREAD 100000.0

uint32_t load_default_threads(double rate)
{
	double wanted = ceil(rate / RATE_PER_THREAD), cpus = 1;
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set))
		cpus = fmax(CPU_COUNT(&set) / 2, 1);
	return (uint32_t)fmin(fmax(wanted, 1), fmin(cpus, LOAD_THREADS_MAX));
}

uint32_t load_default_connections(double rate, uint32_t threads)
{
	double wanted = ceil(rate * LATENCY_ALLOWED);

	return (uint32_t)fmax(fmin(fmax(wanted, CONNECTIONS_LEAST), CONNECTIONS_MOST), threads);
}

int load_default_seed(uint64_t *seed)
{
	do {
		if (getrandom(seed, sizeof(*seed), 0) != sizeof(*seed))
			return -errno;
		*seed >>= 11; /* 53 bits, which JSON readers that use doubles preserve */
	} while (!*seed);
	return 0;
}
