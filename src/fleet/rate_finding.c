/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/rate_finding.h"

#include <math.h>

void finding_describe(const struct fleet *f, enum fleet_class class,
		      const struct unit_entry *entries, size_t n, const bool *left,
		      struct fleet_finding *finding)
{
	double known_ns = 0, limited_ns = 0;
	uint32_t host = FLEET_NONE;

	for (size_t i = 0; i < n; i++) {
		const struct fleet_series *s = &f->all.items[entries[i].conn];

		if (!s->known_ns[class] || (left && !left[entries[i].conn]))
			continue;
		known_ns += (double)s->known_ns[class];
		limited_ns += (double)s->limited_ns[class];
		finding->lost_ns += s->lost_ns[class];
		finding->connections++;
		finding->affected += s->limited_ns[class] > 0;
		finding->defined += fleet_series_changes(f, s, class);
		finding->hosts += s->host != host; /* entries are in the order of hosts */
		host = s->host;
	}
	finding->share = known_ns > 0 ? limited_ns / known_ns : NAN;
}
