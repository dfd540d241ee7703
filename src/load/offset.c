/* SPDX-License-Identifier: Apache-2.0 */
#include "load/offset.h"

#include <errno.h>

/* Upper limit of valid times, 2^62 ns (146 years); the sum of two times does not overflow. */
#define TIME_MAX (1ULL << 62)

void offset_init_same(struct offset *offset)
{
	*offset = (struct offset){ .known = true, .settled = true };
}

/* Returns the largest error, in ns, of offset `ns` if the true offset lies in `least`..`most`. */
static uint64_t offset_bound(int64_t ns, int64_t least, int64_t most)
{
	const int64_t below = ns - least, above = most - ns;

	return (uint64_t)(below > above ? below : above);
}

static void check_drift(struct offset *o, int64_t least, int64_t most)
{
	const uint64_t error = offset_bound(o->ns, least, most);

	if (!o->n_group || error < o->group_ns)
		o->group_ns = error;
	if (++o->n_group < OFFSET_GROUP)
		return;
	if (o->group_ns > o->error_ns)
		o->error_ns = o->group_ns;
	o->n_group = 0;
}

int offset_add(struct offset *o, uint64_t sent, uint64_t theirs, uint64_t received)
{
	int64_t least, most;

	if (sent > received || received >= TIME_MAX || theirs >= TIME_MAX)
		return -EINVAL;
	least = (int64_t)theirs - (int64_t)received;
	most = (int64_t)theirs - (int64_t)sent;
	if (o->settled) {
		check_drift(o, least, most);
		return 0;
	}
	if (o->known && received - sent >= o->rtt_ns)
		return 0;
	o->known = true;
	o->rtt_ns = received - sent;
	o->ns = least + (most - least) / 2;
	o->error_ns = offset_bound(o->ns, least, most);
	return 0;
}

void offset_settle(struct offset *offset)
{
	offset->settled = true;
}

static bool offset_shift(uint64_t from, int64_t by, uint64_t *to)
{
	int64_t at;

	if (from >= TIME_MAX || __builtin_add_overflow((int64_t)from, by, &at) || at < 0 ||
	    (uint64_t)at >= TIME_MAX)
		return false;
	*to = (uint64_t)at;
	return true;
}

bool offset_to_ours(const struct offset *offset, uint64_t theirs, uint64_t *ours)
{
	return offset_shift(theirs, -offset->ns, ours);
}

bool offset_to_theirs(const struct offset *offset, uint64_t ours, uint64_t *theirs)
{
	return offset_shift(ours, offset->ns, theirs);
}
