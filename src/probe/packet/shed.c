/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/shed.h"

uint32_t shed_next(uint32_t one_in, uint32_t base, double cost, double limit)
{
	uint64_t next = one_in;

	if (cost > limit) {
		if (one_in >= SHED_MAX)
			return 0;
		do
			next *= 2;
		while (next < SHED_MAX && cost * one_in > limit * next);
		return next < SHED_MAX ? next : SHED_MAX;
	}
	if (cost * 3 < limit && one_in > base)
		return one_in / 2 > base ? one_in / 2 : base;
	return one_in;
}
