/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of --max-overhead: how many packets to measure, by what it costs. Pure. */
#ifndef HOSTLAT_PROBE_SHED_H
#define HOSTLAT_PROBE_SHED_H

#include <stdint.h>

#define SHED_MAX 65536 /* one packet of so many, at the least */
#define SHED_PATIENCE 5 /* intervals in a row in which that is too much, before the programs go */

/*
 * `one_in`: of so many packets one was measured in the interval that ended, and cost `cost`, a
 * share of the CPUs' time; `limit`: what it may be; `base`: the most that is asked for. Returns
 * the next interval's, or 0: at SHED_MAX it is still too much, the programs have to go.
 *
 * Above the limit the step is as large as the excess; below a third of it, where twice as many
 * packets are sure to fit, it is a factor of two: down fast, up slowly.
 */
uint32_t shed_next(uint32_t one_in, uint32_t base, double cost, double limit);

#endif
