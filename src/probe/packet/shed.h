/* SPDX-License-Identifier: Apache-2.0 */
/* Load shedding for --max-overhead: computes how many packets to measure; no side effects. */
#ifndef HOSTLAT_PROBE_SHED_H
#define HOSTLAT_PROBE_SHED_H

#include <stdint.h>

#define SHED_MAX 65536 /* at least one packet in this many is measured */
/* successive intervals above the limit at sampling 1/SHED_MAX before detaching */
#define SHED_PATIENCE 5

/*
 * Returns the next interval's sampling (one packet in this many), or 0 if the overhead is too high
 * even at SHED_MAX. `one_in`: the last interval's sampling; `cost`: its overhead, as a share of the
 * CPUs' time; `limit`: the highest overhead permitted; `base`: the sampling the user asked for.
 *
 * Above the limit, sampling is cut to fit in one step. Below a third of it, where twice as many
 * packets are sure to fit, it is doubled: down fast, up slowly.
 */
uint32_t shed_next(uint32_t one_in, uint32_t base, double cost, double limit);

#endif
