/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All conversions go through monotonic time in 2^-8 ns, so that times exact at one end do not
 * differ by one at the other. No product exceeds 126 bits: ticks and nanoseconds are below 2^62,
 * `mult` is below 2^64, and greater values are refused.
 */
#include "clock/reconcile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"

#define PARTS 256 /* Parts of a nanosecond in which monotonic times are computed. */
#define STRETCH_NS_MAX (1LL << 54)

/* A monotonic time in 1/PARTS ns, the bound of its error, and the stretch that contains it. */
struct reconcile_found {
	__int128 at;
	uint64_t error_ns;
	size_t run;
	const struct clock_stretch *line;
};

void clock_reconcile_init(struct clock_reconcile *r)
{
	for (int i = 0; i < DOMAIN_COUNT; i++) {
		vec_init(&r->logs[i].known, CLOCK_STRETCHES_MAX);
		vec_init(&r->logs[i].runs, CLOCK_STRETCHES_MAX);
	}
}

void clock_reconcile_release(struct clock_reconcile *r)
{
	for (int i = 0; i < DOMAIN_COUNT; i++) {
		vec_release(&r->logs[i].known);
		vec_release(&r->logs[i].runs);
	}
}

static bool reconcile_is_valid(const struct clock_stretch *s)
{
	return s->mult > 0 && s->shift < 64 && s->from <= CONVERT_TIME_MAX && s->mono_ns >= 0 &&
	       s->mono_ns <= CONVERT_TIME_MAX && s->error_ns <= CONVERT_TIME_MAX &&
	       !(s->fraction >> s->shift);
}

/* Returns monotonic time at `ticks` >= line->from, in 1/PARTS ns; < 0: over STRETCH_NS_MAX away. */
static __int128 reconcile_mono_at(const struct clock_stretch *line, uint64_t ticks)
{
	const unsigned __int128 one = (unsigned __int128)1 << line->shift;
	unsigned __int128 q = (unsigned __int128)(ticks - line->from) * line->mult + line->fraction;

	if (q >> line->shift > STRETCH_NS_MAX)
		return -1;
	return ((__int128)(q >> line->shift) + line->mono_ns) * PARTS +
	       (__int128)(((q & (one - 1)) * PARTS) >> line->shift);
}

/* Returns the ticks at `mono` (1/PARTS ns), rounded up to the next tick if `up`, else down. */
static __int128 reconcile_ticks_at(const struct clock_stretch *line, __int128 mono, bool up)
{
	const __int128 one = (__int128)1 << line->shift, step = (__int128)line->mult * PARTS;
	__int128 distance = (mono - (__int128)line->mono_ns * PARTS) * one -
			    (__int128)line->fraction * PARTS;

	if (distance <= 0)
		return line->from;
	return line->from + (up ? (distance + step - 1) / step : distance / step);
}

static bool reconcile_counts_ticks(enum clock_domain domain)
{
	return domain == DOMAIN_TSC || domain == DOMAIN_FILE;
}

static bool reconcile_is_one_to_one(const struct clock_stretch *line)
{
	return line->mult >> line->shift == 1 && line->mult == 1ULL << line->shift;
}

/*
 * Ends the last stretch where the next, `s`, begins: it is known up to there unless `s` has
 * STRETCH_LOST. Returns 0 or -EINVAL.
 */
static int reconcile_end_last(struct clock_known *last, const struct clock_stretch *s)
{
	__int128 until;

	if (s->mono_ns < last->line.mono_ns)
		return -EINVAL;
	if (s->flags & STRETCH_LOST)
		return 0;
	if (!(s->flags & STRETCH_STEP)) {
		if (s->from < last->until)
			return -EINVAL;
		last->until = s->from;
		return 0;
	}
	if (s->mono_ns - last->line.mono_ns > STRETCH_NS_MAX)
		return -EINVAL;
	until = reconcile_ticks_at(&last->line, (__int128)s->mono_ns * PARTS, false);
	if (until > (__int128)last->until)
		last->until = (uint64_t)until;
	return 0;
}

int clock_reconcile_add(struct clock_reconcile *r, enum clock_domain domain,
			const struct clock_stretch *s)
{
	struct clock_log *log = &r->logs[domain];
	struct clock_known *last = log->known.len ? vec_last(&log->known) : NULL;
	bool breaks = !last || (s->flags & (STRETCH_STEP | STRETCH_LOST));
	int err;

	BUG_ON((unsigned int)domain >= DOMAIN_COUNT || domain == DOMAIN_MONO);
	if (!reconcile_is_valid(s))
		return -EINVAL;
	if (s->flags & STRETCH_HOLDS) {
		if (!last || s->from < last->until || reconcile_mono_at(&last->line, s->from) < 0)
			return -EINVAL;
		last->until = s->from;
		return 0;
	}
	err = vec_reserve(&log->known, log->known.len + 1);
	if (!err && breaks)
		err = vec_reserve(&log->runs, log->runs.len + 1);
	if (err)
		return err;
	last = log->known.len ? vec_last(&log->known) : NULL;
	err = last ? reconcile_end_last(last, s) : 0;
	if (err)
		return err;
	if (breaks)
		log->runs.items[log->runs.len++] = log->known.len;
	log->known.items[log->known.len++] = (struct clock_known){ .line = *s, .until = s->from };
	return 0;
}

bool clock_reconcile_step(const struct clock_reconcile *r, enum clock_domain domain, size_t i,
			  struct clock_step *step)
{
	const struct clock_log *log = &r->logs[domain];
	const struct clock_known *after, *before;
	__int128 by, width;

	if (i + 1 >= log->runs.len)
		return false;
	after = &log->known.items[log->runs.items[i + 1]];
	before = after - 1;
	by = ((__int128)after->line.from - after->line.mono_ns) -
	     ((__int128)before->line.from - before->line.mono_ns);
	width = (__int128)after->line.mono_ns * PARTS -
		reconcile_mono_at(&before->line, before->until);
	*step = (struct clock_step){
		.after_ns = after->line.mono_ns,
		.width_ns = width > 0 ? (uint64_t)(width / PARTS) : 0,
	};
	if (by >= -CONVERT_TIME_MAX && by <= CONVERT_TIME_MAX &&
	    (uint64_t)llabs((int64_t)by) > before->line.error_ns + after->line.error_ns)
		step->by_ns = (int64_t)by;
	return true;
}

/* ---- conversion to and from monotonic time ---- */

/*
 * Returns the index of the last stretch of a run, which is a series without an interruption, and in
 * *first that of its first stretch.
 */
static size_t reconcile_run(const struct clock_log *log, size_t run, size_t *first)
{
	*first = log->runs.items[run];
	return (run + 1 < log->runs.len ? log->runs.items[run + 1] : log->known.len) - 1;
}

/*
 * Returns true if the clock may have shown `t` between the previous run of stretches and this one.
 * Until when the previous run's rate held is unknown: the clock may even have shown `t` twice.
 */
static bool reconcile_may_be_between(const struct clock_log *log, size_t run, int64_t t)
{
	const struct clock_known *after = &log->known.items[log->runs.items[run]];
	const struct clock_known *before = after - 1;
	const __int128 end = (__int128)after->line.mono_ns * PARTS;
	const __int128 width = end + PARTS - reconcile_mono_at(&before->line, before->until);

	if (end - (__int128)before->line.mono_ns * PARTS > (__int128)STRETCH_NS_MAX * PARTS)
		return true;
	return (t > (int64_t)before->until &&
		t <= reconcile_ticks_at(&before->line, end + PARTS, true)) ||
	       (t < (int64_t)after->line.from &&
		t + (reconcile_ticks_at(&after->line, end + width, true) - after->line.from) >=
			(__int128)after->line.from);
}

/* Returns false for counters, which only increase. */
static bool reconcile_can_be_set(enum clock_domain domain)
{
	return domain != DOMAIN_TSC && domain != DOMAIN_SCHED;
}

/*
 * Converts ticks of a domain into monotonic time, if exactly one run (stretches without an
 * interruption) contains them. Returns 0 or -ERANGE.
 */
static int reconcile_to_mono(const struct clock_log *log, enum clock_domain domain, int64_t t,
			     struct reconcile_found *found)
{
	const struct clock_known *known = log->known.items;
	int n = 0;

	for (size_t run = 0; run < log->runs.len && t >= 0; run++) {
		size_t first, last = reconcile_run(log, run, &first);

		if (run && reconcile_can_be_set(domain) && reconcile_may_be_between(log, run, t))
			return -ERANGE;
		if ((uint64_t)t < known[first].line.from || (uint64_t)t > known[last].until)
			continue;
		while (first < last) {
			size_t middle = first + (last - first + 1) / 2;

			if (known[middle].line.from <= (uint64_t)t)
				first = middle;
			else
				last = middle - 1;
		}
		*found = (struct reconcile_found){
			reconcile_mono_at(&known[first].line, (uint64_t)t),
			known[first].line.error_ns, run, &known[first].line
		};
		n++;
	}
	return n == 1 && found->at >= 0 ? 0 : -ERANGE;
}

/*
 * Returns the stretch that is known at the monotonic time `mono`, or NULL. *run: index of the
 * stretch's run, which is a series of stretches without an interruption.
 */
static const struct clock_known *reconcile_find_mono(const struct clock_log *log, __int128 mono,
						     size_t *run)
{
	const struct clock_known *known = log->known.items;
	size_t low = 0, high = log->runs.len, first, last;

	while (low < high) { /* finds the first run of stretches that begins after `mono` */
		size_t middle = low + (high - low) / 2;

		if (reconcile_mono_at(&known[log->runs.items[middle]].line,
				      known[log->runs.items[middle]].line.from) <= mono)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	*run = low - 1;
	last = reconcile_run(log, *run, &first);
	if (reconcile_mono_at(&known[last].line, known[last].until) < mono)
		return NULL;
	while (first < last) {
		size_t middle = first + (last - first + 1) / 2;

		if (reconcile_mono_at(&known[middle].line, known[middle].line.from) <= mono)
			first = middle;
		else
			last = middle - 1;
	}
	return &known[first];
}

static int reconcile_from_mono(const struct clock_log *log, __int128 mono, enum clock_domain domain,
			       int64_t *value, struct reconcile_found *found)
{
	const struct clock_known *known = reconcile_find_mono(log, mono, &found->run);
	__int128 ticks;

	if (!known || mono - (__int128)known->line.mono_ns * PARTS >
			      (__int128)STRETCH_NS_MAX * PARTS)
		return -ERANGE;
	ticks = reconcile_ticks_at(&known->line, mono, reconcile_counts_ticks(domain));
	if (ticks > (__int128)known->until)
		ticks = known->until;
	*value = (int64_t)ticks;
	found->line = &known->line;
	found->error_ns = known->line.error_ns + !reconcile_is_one_to_one(&known->line);
	return 0;
}

/* Returns true if the clock was not set between the earliest and the latest possible time. */
static bool reconcile_is_in_one_run(const struct clock_log *log,
				    const struct reconcile_found *found, size_t run)
{
	const __int128 doubt = (__int128)found->error_ns * PARTS;
	size_t earliest, latest;

	return reconcile_find_mono(log, found->at - doubt, &earliest) && earliest == run &&
	       reconcile_find_mono(log, found->at + doubt, &latest) && latest == run;
}

int clock_reconcile_convert(const struct clock_reconcile *r, enum clock_domain from,
			    enum clock_domain to, int64_t t, struct clock_time *result)
{
	struct reconcile_found mono = { .at = (__int128)t * PARTS }, other = { 0 };
	int64_t value = t;
	int err = 0;

	BUG_ON((unsigned int)from >= DOMAIN_COUNT || (unsigned int)to >= DOMAIN_COUNT);
	if (t < 0 || t > CONVERT_TIME_MAX)
		return -ERANGE;
	if (from != DOMAIN_MONO)
		err = reconcile_to_mono(&r->logs[from], from, t, &mono);
	if (!err && to == DOMAIN_MONO)
		value = (int64_t)(mono.at / PARTS);
	else if (!err && to != from)
		err = reconcile_from_mono(&r->logs[to], mono.at, to, &value, &other);
	if (!err && to != from && to != DOMAIN_MONO && mono.error_ns &&
	    !reconcile_is_in_one_run(&r->logs[to], &mono, other.run))
		err = -ERANGE;
	if (err)
		return err;
	if (from != to) /* the two domains' rates differ by less than 1/1000 */
		mono.error_ns += other.line && mono.error_ns ? mono.error_ns / 1000 + 1 : 0;
	result->value = value;
	result->error_ns = from == to ? 0 : mono.error_ns + other.error_ns;
	return 0;
}
