/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of `load` that depend on the rate or on this host. */
#ifndef HOSTLAT_CMD_LOAD_DEFAULTS_H
#define HOSTLAT_CMD_LOAD_DEFAULTS_H

#include <stdint.h>

/* Returns the number of threads for a rate of one generator, in requests per second. */
uint32_t load_default_threads(double rate);

/* Returns the number of connections of one generator, at least one per thread. */
uint32_t load_default_connections(double rate, uint32_t threads);

/* Draws a seed other than 0. Returns 0 or -errno. */
int load_default_seed(uint64_t *seed);

#endif
