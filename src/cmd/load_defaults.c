/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_defaults.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <sys/random.h>

#include "load/config.h"

/*
 * The default number of connections sustains a pause of the server of PAUSE_ALLOWED seconds up to
 * CONNECTIONS_USUAL, as nginx takes no more than 512 as it comes; above that, a mean latency of
 * LATENCY_ALLOWED seconds.
 */
#define PAUSE_ALLOWED 0.025
#define LATENCY_ALLOWED 0.005
#define CONNECTIONS_LEAST 32
#define CONNECTIONS_USUAL 400
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
	const double pause = fmin(ceil(rate * PAUSE_ALLOWED), CONNECTIONS_USUAL);
	const double mean = fmin(ceil(rate * LATENCY_ALLOWED), CONNECTIONS_MOST);

	return (uint32_t)fmax(fmax(fmax(pause, mean), CONNECTIONS_LEAST), threads);
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
