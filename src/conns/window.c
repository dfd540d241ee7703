/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/window.h"

bool window_apply(const struct conns_window *w, __u64 *from, __u64 *to)
{
	int64_t first, last;

	if (!w->to || *from > *to || *to > INT64_MAX)
		return true;
	if (__builtin_add_overflow((int64_t)*from, w->shift_ns, &first) ||
	    __builtin_add_overflow((int64_t)*to, w->shift_ns, &last) || first < 0)
		return false; /* not a valid time in the other clock */
	*from = (__u64)first;
	*to = (__u64)last;
	if (*from >= w->from && *to <= w->to)
		return true;
	if (*to <= w->from || *from >= w->to)
		return false;
	return 2 * ((*to < w->to ? *to : w->to) - (*from > w->from ? *from : w->from)) >=
	       *to - *from;
}

bool window_apply_conn(const struct conns_window *w, struct event_conn *e)
{
	__u64 *const points[] = { &e->loss_first, &e->loss_last, &e->write_first,
				  &e->lost_reply };
	const __u64 before = e->from;

	if (!window_apply(w, &e->from, &e->to))
		return false;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		*points[i] += *points[i] ? e->from - before : 0;
	return true;
}
