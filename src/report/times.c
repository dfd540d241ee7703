/* SPDX-License-Identifier: Apache-2.0 */
#include "report/times.h"

#include <stdio.h>

#include "base/parse.h"
#include "report/human.h"

#define STEPS_SHOWN 3
#define SPAN_DIGITS 3           /* fraction digits of a second in a span */
#define STEP_AT_ONCE NS_PER_MS  /* a clock step with a time this exact is reported "at" that time */

void times_init(struct times *t, enum times_style style)
{
	*t = (struct times){ .style = style };
	event_clocks_init(&t->clocks, 1U << DOMAIN_REALTIME);
}

void times_release(struct times *t)
{
	event_clocks_release(&t->clocks);
}

int times_feed(struct times *t, const struct event *event)
{
	return event_clocks_add(&t->clocks, event);
}

static enum times_style times_style_of(const struct times *t)
{
	return t->style || !event_clocks_has_realtime(&t->clocks) ? t->style : TIMES_WALL;
}

bool times_is_wall(const struct times *t)
{
	return times_style_of(t) == TIMES_WALL;
}

/* Returns the digits of a second that the error bound allows: 6, 3 or 0; -1: not even seconds. */
static int times_digits(uint64_t error_ns)
{
	return error_ns <= 1000 ? 6 : error_ns <= NS_PER_MS ? 3 : error_ns <= NS_PER_S ? 0 : -1;
}

static const char *times_seconds(struct report *r, uint64_t ns, unsigned int digits)
{
	char all[16];

	snprintf(all, sizeof(all), ".%06u", (unsigned int)(ns % NS_PER_S / 1000));
	all[digits ? digits + 1 : 0] = '\0';
	return report_format(r, "%llu%s s", (unsigned long long)(ns / NS_PER_S), all);
}

static bool times_is_same_day(const struct times *t, uint64_t mono_ns, int64_t realtime_ns)
{
	const int64_t day_ns = (int64_t)(86400 * NS_PER_S);
	struct clock_time other;

	return mono_ns && !event_clocks_realtime(&t->clocks, mono_ns, &other) &&
	       other.value / day_ns == realtime_ns / day_ns;
}

static const char *times_utc(const struct times *t, struct report *r, uint64_t mono_ns,
			     uint64_t day_ns, unsigned int digits)
{
	struct clock_time real;
	char buf[HUMAN_MAX];
	int known;

	if (event_clocks_realtime(&t->clocks, mono_ns, &real))
		return NULL;
	known = times_digits(real.error_ns);
	if (known < 0)
		return NULL;
	return report_format(r, "%s", human_utc(buf, (uint64_t)real.value,
						(unsigned int)known < digits ? (unsigned int)known :
									       digits,
						!times_is_same_day(t, day_ns, real.value)));
}

const char *times_text(const struct times *t, struct report *r, uint64_t mono_ns, uint64_t day_ns,
		       unsigned int digits)
{
	switch (times_style_of(t)) {
	case TIMES_WALL:
		return times_utc(t, r, mono_ns, day_ns, digits);
	case TIMES_MONOTONIC:
		return times_seconds(r, mono_ns, digits);
	case TIMES_TRACE:
		return mono_ns < t->clocks.begin_ns ? NULL :
		       times_seconds(r, mono_ns - t->clocks.begin_ns, digits);
	default:
		return NULL;
	}
}

/* ---- fields ---- */

struct value times_realtime(const struct times *t, uint64_t mono_ns)
{
	struct clock_time real;

	return event_clocks_realtime(&t->clocks, mono_ns, &real) ? value_null() :
								   value_ns((uint64_t)real.value);
}

struct value times_error(const struct times *t, uint64_t mono_ns)
{
	struct clock_time real;

	return event_clocks_realtime(&t->clocks, mono_ns, &real) ? value_null() :
								   value_ns(real.error_ns);
}

/* Returns the larger error of the two times, in ns; null if neither is known. */
static struct value times_span_error(const struct times *t, uint64_t from_ns, uint64_t to_ns)
{
	const struct value from = times_error(t, from_ns), to = times_error(t, to_ns);

	return from.type == VALUE_NULL || (to.type != VALUE_NULL && to.u64 > from.u64) ? to : from;
}

void times_add_span(const struct times *t, struct object *o, uint64_t from_ns, uint64_t to_ns)
{
	const bool known = to_ns;
	const struct value none = value_null();

	object_add(o, "from_realtime_ns", known ? times_realtime(t, from_ns) : none);
	object_add(o, "to_realtime_ns", known ? times_realtime(t, to_ns) : none);
	object_add(o, "realtime_error_ns", known ? times_span_error(t, from_ns, to_ns) : none);
}

/* ---- text ---- */

static const char *times_or_unknown(const char *text)
{
	return text ? text : "n/a";
}

static void times_report_step(const struct times *t, struct report *r, const char *prefix,
			      const struct clock_step *step)
{
	const char *at = times_text(t, r, (uint64_t)step->after_ns, 0, SPAN_DIGITS);
	char by[HUMAN_MAX], width[HUMAN_MAX];

	report_finding(r, "%sThe realtime clock was stepped by %s%s %s %s.", prefix,
		       step->by_ns > 0 ? "+" : "", human_sns(by, step->by_ns),
		       step->width_ns <= STEP_AT_ONCE ? "at" :
		       report_format(r, "within the %s before", human_ns(width, step->width_ns)),
		       times_or_unknown(at));
}

/*
 * Reports a span's clock steps: the last known time before such a step is within the span.
 */
static void times_report_steps(const struct times *t, struct report *r, const char *prefix,
			       uint64_t from_ns, uint64_t to_ns)
{
	struct clock_step step;
	char buf[HUMAN_MAX];
	size_t at = 0, n = 0;

	while (event_clocks_realtime_step(&t->clocks, &at, &step)) {
		const uint64_t seen_ns = (uint64_t)step.after_ns - step.width_ns;

		if (seen_ns >= from_ns && seen_ns < to_ns && n++ < STEPS_SHOWN)
			times_report_step(t, r, prefix, &step);
	}
	if (n > STEPS_SHOWN)
		report_finding(r, "%sThe realtime clock was stepped %s times in all.", prefix,
			       human_count(buf, n));
}

static const char *times_bound(const struct times *t, struct report *r, uint64_t from_ns,
			       uint64_t to_ns)
{
	const struct value error = times_span_error(t, from_ns, to_ns);
	char buf[HUMAN_MAX];

	return error.u64 ? report_format(r, " ±%s", human_ns(buf, error.u64)) : ", exact";
}

void times_add_span_text(const struct times *t, struct report *r, const char *prefix,
			 uint64_t from_ns, uint64_t to_ns)
{
	const enum times_style style = times_style_of(t);
	const char *from = times_text(t, r, from_ns, 0, SPAN_DIGITS);
	const char *to = times_text(t, r, to_ns, from_ns, SPAN_DIGITS);

	if (style == TIMES_AUTO)
		return;
	if (style == TIMES_WALL && !from && !to)
		report_summary(r, "%stimes of day unknown%s", prefix,
			       event_clocks_has_realtime(&t->clocks) ? "" :
			       ": the recording does not contain the realtime clock");
	else
		report_summary(r, "%s%s to %s%s", prefix, times_or_unknown(from),
			       times_or_unknown(to),
			       style == TIMES_MONOTONIC ? " of CLOCK_MONOTONIC" :
			       style == TIMES_TRACE ? " after the start" :
			       from && to ? times_bound(t, r, from_ns, to_ns) : "");
	if (style == TIMES_WALL)
		times_report_steps(t, r, prefix, from_ns, to_ns);
}
