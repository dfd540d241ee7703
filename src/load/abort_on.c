/* SPDX-License-Identifier: Apache-2.0 */
#include "load/abort_on.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "report/human.h"

#define SHARE_TEXT_MAX 32
#define CONDITIONS_TEXT_MAX 256
/* Shortest time between two kept values: less than a tick, whose time varies. */
#define KEPT_NS (ABORT_ON_WINDOW_NS / 20)
/* Number of kept values from which a window of the least size is made. */
#define KEPT_PARTS 16

_Static_assert(ABORT_ON_KEPT > 2 * KEPT_PARTS && ABORT_ON_KEPT * KEPT_NS > ABORT_ON_WINDOW_NS,
	       "the oldest kept value is before the window");

static const char *const names[ABORT_ON_CONDITIONS] = {
	[ABORT_ON_ERRORS] = "errors", [ABORT_ON_TIMEOUTS] = "timeouts",
	[ABORT_ON_UNSENT] = "unsent",
};

/* ---- conditions ---- */

/* Parses one condition, `size` bytes at `text`. Returns 0 or -EINVAL. */
static int abort_on_parse_one(const char *text, size_t size, struct abort_on_limits *out)
{
	const char *more = memchr(text, '>', size);
	const size_t name = more ? (size_t)(more - text) : 0, share = more ? size - name - 1 : 0;
	char number[SHARE_TEXT_MAX];

	if (!share || share >= sizeof(number))
		return -EINVAL;
	memcpy(number, more + 1, share);
	number[share] = '\0';
	for (int i = 0; i < ABORT_ON_CONDITIONS; i++) {
		if (strlen(names[i]) != name || strncmp(names[i], text, name) != 0)
			continue;
		if (out->given >> i & 1 || parse_fraction(number, &out->most[i]))
			return -EINVAL;
		out->given |= 1ULL << i;
		return 0;
	}
	return -EINVAL;
}

int abort_on_parse(const char *text, struct abort_on_limits *out, struct strbuf *why)
{
	char dense[CONDITIONS_TEXT_MAX] = "";
	int err = text ? parse_drop_blanks(text, dense, sizeof(dense)) : 0;

	*out = (struct abort_on_limits){ 0 };
	for (const char *at = text ? dense : NULL; at && !err;) {
		const size_t size = strcspn(at, ",");

		err = abort_on_parse_one(at, size, out);
		at = at[size] ? at + size + 1 : NULL;
	}
	if (!err)
		return 0;
	strbuf_printf(why, "--abort-on takes %s, not '%s'", ABORT_ON_TAKES, text);
	return -EINVAL;
}

/* ---- windows ---- */

void abort_on_init(struct abort_on_watch *watch, const struct abort_on_limits *limits)
{
	*watch = (struct abort_on_watch){ .limits = *limits };
	for (int i = 0; i < ABORT_ON_CONDITIONS; i++)
		watch->windows[i].made = 1; /* the start, at which all counters are 0 */
}

/* Returns the number of requests that a window needs, so that one failure is not too many. */
static uint64_t abort_on_least(double most)
{
	const double needed = most > 0 ? ceil(1 / most) : 1;

	return most > 0 && needed < ABORT_ON_LEAST ? ABORT_ON_LEAST : (uint64_t)needed;
}

static struct abort_on_point *abort_on_kept(struct abort_on_window *window, uint64_t number)
{
	return &window->kept[number % ABORT_ON_KEPT];
}

static void abort_on_keep(struct abort_on_window *window, const struct abort_on_point *now,
			  uint64_t least)
{
	const struct abort_on_point *last = abort_on_kept(window, window->made - 1);

	if (now->at_ns < last->at_ns + KEPT_NS || (now->of - last->of) * KEPT_PARTS < least)
		return;
	*abort_on_kept(window, window->made) = *now;
	window->made++;
}

/*
 * Returns the latest kept value from which on the window is long enough and has enough requests;
 * NULL: none yet.
 */
static const struct abort_on_point *abort_on_begin(struct abort_on_window *window,
						   const struct abort_on_point *now,
						   uint64_t least)
{
	const uint64_t oldest = window->made > ABORT_ON_KEPT ? window->made - ABORT_ON_KEPT : 0;

	for (uint64_t i = window->made; i-- > oldest;) {
		const struct abort_on_point *p = abort_on_kept(window, i);

		if (now->at_ns >= p->at_ns + ABORT_ON_WINDOW_NS && now->of - p->of >= least)
			return p;
	}
	return NULL;
}

/* Whether a count is that of requests waiting now, instead of a counter that only grows. */
static bool abort_on_is_level(enum abort_on by)
{
	return by == ABORT_ON_UNSENT;
}

static uint64_t abort_on_count(enum abort_on by, const struct abort_on_point *from,
			       const struct abort_on_point *to)
{
	return abort_on_is_level(by) ? to->count : to->count - from->count;
}

static struct abort_on_point abort_on_point(enum abort_on by, const struct abort_on_counts *counts)
{
	const uint64_t count = by == ABORT_ON_ERRORS ? counts->failed :
		by == ABORT_ON_TIMEOUTS ? counts->timeouts : counts->unsent;

	return (struct abort_on_point){
		.at_ns = counts->at_ns, .count = count,
		.of = by == ABORT_ON_UNSENT ? counts->scheduled :
					      counts->completed + counts->failed,
	};
}

static bool abort_on_judge(struct abort_on_watch *watch, enum abort_on by,
			   const struct abort_on_counts *counts)
{
	const double most = watch->limits.most[by];
	const uint64_t least = abort_on_least(most);
	struct abort_on_window *window = &watch->windows[by];
	const struct abort_on_point now = abort_on_point(by, counts);
	const struct abort_on_point *from = abort_on_begin(window, &now, least);

	abort_on_keep(window, &now, least);
	if (!from || (double)abort_on_count(by, from, &now) <= most * (double)(now.of - from->of))
		return false;
	watch->met = true;
	watch->by = by;
	watch->from = *from;
	watch->to = now;
	return true;
}

bool abort_on_feed(struct abort_on_watch *watch, const struct abort_on_counts *counts)
{
	for (int i = 0; i < ABORT_ON_CONDITIONS && !watch->met; i++) {
		if (watch->limits.given >> i & 1)
			abort_on_judge(watch, i, counts);
	}
	return watch->met;
}

/* ---- evidence ---- */

void abort_on_evidence(const struct abort_on_watch *watch, struct strbuf *out)
{
	const struct abort_on_point *from = &watch->from, *to = &watch->to;
	const double from_s = (double)from->at_ns / 1e9, to_s = (double)to->at_ns / 1e9;
	char count[HUMAN_MAX], of[HUMAN_MAX];

	BUG_ON(!watch->met);
	human_count(count, abort_on_count(watch->by, from, to));
	human_count(of, to->of - from->of);
	strbuf_printf(out, "%s>%.10g%%: ", names[watch->by],
		      100 * watch->limits.most[watch->by]);
	if (watch->by == ABORT_ON_UNSENT)
		strbuf_printf(out, "%s requests waited for a free connection at %.1f s; %s came "
			      "due since %.1f s", count, to_s, of, from_s);
	else
		strbuf_printf(out, "%s of the %s requests that ended from %.1f s to %.1f s %s",
			      count, of, from_s, to_s,
			      watch->by == ABORT_ON_ERRORS ? "failed" : "timed out");
}
