/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/tally.h"

#include <stdlib.h>

static double fleet_over_share(unsigned int i)
{
	return (double)i / FLEET_OVERS;
}

static void fleet_tally_add(struct fleet_tally *t, const struct fleet_series *s, unsigned int class)
{
	const double known = (double)s->known_ns[class], limited = (double)s->limited_ns[class];

	if (!s->known_ns[class])
		return;
	t->connections++;
	t->affected += s->limited_ns[class] > 0;
	for (unsigned int i = 0; i < FLEET_OVERS; i++)
		t->over[i] += limited > fleet_over_share(i) * known;
	t->known_ns += s->known_ns[class];
	t->limited_ns += s->limited_ns[class];
	t->lost_ns += s->lost_ns[class];
}

struct fleet_tally *fleet_tally_all(const struct fleet *f)
{
	struct fleet_tally *all = calloc(f->resources.len + 1, FLEET_CLASSES * sizeof(*all));

	vec_for_each(&f->all, s)
		for (uint32_t i = 0; all && i < s->n; i++)
			for (unsigned int class = 0; class < FLEET_CLASSES; class++)
				fleet_tally_add(&all[(size_t)f->shares.items[s->shares + i] *
						     FLEET_CLASSES + class], s, class);
	return all;
}
