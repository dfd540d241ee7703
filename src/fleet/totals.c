/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/state.h"

bool fleet_totals(const struct fleet *f, uint32_t conn, enum fleet_class class,
		  struct fleet_stretch *out)
{
	const struct fleet_series *s = &f->all.items[conn];

	out->known_ns = s->known_ns[class];
	out->limited_ns = s->limited_ns[class];
	out->lost_ns = s->lost_ns[class];
	return s->known_ns[class] > 0;
}
