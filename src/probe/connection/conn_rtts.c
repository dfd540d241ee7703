/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conn_rtts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stats/bucket_edges.h"

#define US 1000u

size_t conn_rtts_size(const struct conn_rtts_seen *s)
{
	return s ? sizeof(*s) + s->n * sizeof(s->count[0]) : 0;
}

/* Widens the stored range of buckets so that it includes first..end. Returns 0 or -ENOMEM. */
static int conn_rtts_widen(struct conn_rtts_seen **seen, uint32_t first, uint32_t end)
{
	const struct conn_rtts_seen *old = *seen;
	struct conn_rtts_seen *wide;

	if (old && old->n && old->first < first)
		first = old->first;
	if (old && old->n && old->first + old->n > (int)end)
		end = (uint32_t)old->first + old->n;
	if (old && old->n == end - first)
		return 0;
	wide = calloc(1, sizeof(*wide) + (end - first) * sizeof(wide->count[0]));
	if (!wide)
		return -ENOMEM;
	wide->first = (uint8_t)first;
	wide->n = (uint8_t)(end - first);
	if (old) {
		wide->wraps = old->wraps;
		memcpy(wide->count + (old->first - first) * !!old->n, old->count,
		       old->n * sizeof(old->count[0]));
	}
	free(*seen);
	*seen = wide;
	return 0;
}

/*
 * Finds the range of non-empty buckets, mostly a few adjacent ones. Returns false if all are empty.
 */
static bool conn_rtts_range(const struct conn_rtts *now, uint32_t *first, uint32_t *end)
{
	for (*first = 0; *first < CONN_RTTS && !now->count[*first]; ++*first)
		;
	for (*end = CONN_RTTS; *end > *first && !now->count[*end - 1]; --*end)
		;
	for (uint32_t i = 0; i < CONN_RTT_WRAPS && i < now->wraps; i++) {
		const uint32_t at = now->wrapped[i] % CONN_RTTS;

		*first = *first < at ? *first : at;
		*end = *end > at ? *end : at + 1;
	}
	return *end > *first;
}

int conn_rtts_gained(struct conn_rtts_seen **seen, const struct conn_rtts *now, uint32_t *gained)
{
	uint32_t first, end, over[CONN_RTTS] = { 0 };
	struct conn_rtts_seen *s;
	uint16_t wraps;
	int err;

	memset(gained, 0, CONN_RTTS * sizeof(*gained));
	if (!conn_rtts_range(now, &first, &end))
		return 0;
	err = conn_rtts_widen(seen, first, end);
	if (err)
		return err;
	s = *seen;
	wraps = (uint16_t)(now->wraps - s->wraps);
	for (uint16_t i = 0; i < wraps && wraps <= CONN_RTT_WRAPS; i++)
		over[now->wrapped[(uint16_t)(s->wraps + i) % CONN_RTT_WRAPS] % CONN_RTTS]++;
	s->wraps = now->wraps;
	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t at = s->first + i;
		const int64_t more = over[at] * 65536LL + now->count[at] - s->count[i];

		if (more < 0) /* the counter's wrap is not recorded yet: counted next time */
			continue;
		gained[at] = (uint32_t)more;
		s->count[i] = now->count[at];
	}
	if (wraps <= CONN_RTT_WRAPS)
		return 0;
	for (uint32_t i = 0; i < s->n; i++)
		s->count[i] = now->count[s->first + i];
	return -ENODATA;
}

/* Returns a bucket's lower bound in whole us, the resolution of measured round trips. */
static uint32_t conn_rtts_least_us(int bucket)
{
	return bucket ?
	       (uint32_t)(bucket_edges_floor(CONN_RTT_SCHEMA, CONN_RTT_BASE + bucket - 1) / US) +
				1 : 1;
}

static uint32_t conn_rtts_most_us(int bucket)
{
	if (bucket == CONN_RTTS - 1)
		return UINT32_MAX;
	return (uint32_t)(bucket_edges_floor(CONN_RTT_SCHEMA, CONN_RTT_BASE + bucket) / US);
}

void conn_rtts_extremes(const uint32_t *gained, uint32_t *min_us, uint32_t *max_us)
{
	int first = 0, last = CONN_RTTS - 1;

	while (first < CONN_RTTS && !gained[first])
		first++;
	while (last >= 0 && !gained[last])
		last--;
	if (last < 0)
		return;
	if (!*max_us || *min_us > conn_rtts_most_us(first))
		*min_us = conn_rtts_least_us(first);
	if (!*max_us || *max_us < conn_rtts_least_us(last))
		*max_us = conn_rtts_most_us(last);
}
