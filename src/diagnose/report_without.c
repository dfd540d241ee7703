/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a quantile as it would be without a cause. */
#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "diagnose/sections.h"
#include "diagnose/without.h"
#include "report/human.h"

/* If less is gained, the quantile stays. */
#define WITHOUT_GAIN_MIN 0.02

/* ---- sentences ---- */

/* Returns a quantile: "1.0 ms [0.9 ms, 1.2 ms]", "below 350 us", "1.0 ms". */
static const char *without_value(struct report *r, const struct without_quantile *l)
{
	char ns[HUMAN_MAX], lo[HUMAN_MAX], hi[HUMAN_MAX];

	human_ns(ns, l->ns);
	if (l->below)
		return l->bounded && l->hi_ns > l->ns ?
		       report_format(r, "below %s [at most %s]", ns, human_ns(hi, l->hi_ns)) :
		       report_format(r, "below %s", ns);
	if (!l->bounded)
		return report_format(r, "about %s", ns);
	if (l->lo_below)
		return report_format(r, "%s [at most %s]", ns, human_ns(hi, l->hi_ns));
	return report_format(r, "%s [%s, %s]", ns, human_ns(lo, l->lo_ns), human_ns(hi, l->hi_ns));
}

/*
 * Returns the percentile's name, such as "p99.9". The share beyond it is rounded to two digits, or
 * to one if that is as close as a message more or less.
 */
static const char *without_name(struct report *r, const struct without *w)
{
	const double beyond = 1 - w->q, unit = pow(10, floor(log10(beyond)));
	const double one = round(beyond / unit) * unit, two = round(beyond / unit * 10) * unit / 10;

	return report_format(r, "p%.10g", 100 * (1 - (fabs(one - beyond) <= 0.05 * beyond ? one :
										      two)));
}

const char *report_without_sentence(struct report *r, const struct without *w, unsigned int place)
{
	const struct without_case *one =
		without_single(w, EXCESS_KEY(place / WHERE_MAX, place % WHERE_MAX));
	char now[HUMAN_MAX], left[HUMAN_MAX];

	if (!one)
		return "";
	human_ns(now, w->now.ns);
	human_ns(left, one->latency.ns);
	if (without_gain(w, one) < WITHOUT_GAIN_MIN || !strcmp(now, left))
		return report_format(r, " Without that, %s would stay at %s.", without_name(r, w),
				     now);
	return report_format(r, " Without that, %s would be %s, not %s.", without_name(r, w),
			     without_value(r, &one->latency), now);
}

/* Returns a cause's name, of one in the client "cpu-wait of the client". */
static const char *without_key_name(struct report *r, unsigned int key)
{
	const char *name = cause_name(key % CAUSE_MAX);

	return key < CAUSE_MAX ? name : report_format(r, "%s of the client", name);
}

static const struct without_case *without_pair(const struct without *w)
{
	const struct without_case *last = w->n ? &w->cases[w->n - 1] : NULL;

	return last && last->keys[1] != EXCESS_KEYS ? last : NULL;
}

static void without_add_pair_finding(struct report *r, const struct without *w)
{
	const struct without_case *pair = without_pair(w);
	const struct without_case *a, *b;
	char alone[HUMAN_MAX];

	if (!pair)
		return;
	a = without_single(w, pair->keys[0]);
	b = without_single(w, pair->keys[1]);
	BUG_ON(!a || !b);
	report_finding(r, "Two causes keep %s up: without both %s and %s it would be %s, without "
		       "one of them at least %s.", without_name(r, w),
		       without_key_name(r, pair->keys[0]), without_key_name(r, pair->keys[1]),
		       without_value(r, &pair->latency),
		       human_ns(alone, a->latency.ns < b->latency.ns ? a->latency.ns :
								       b->latency.ns));
}

/* ---- table ---- */

static const char *without_label(const struct population *p, struct report *r,
				 const struct without_case *one)
{
	const struct task_commands *commands = &p->rec->commands;
	const char *cause = without_key_name(r, one->keys[0]);
	const struct task_command *command;

	if (one->keys[1] != EXCESS_KEYS)
		return report_format(r, "%s and %s", cause, without_key_name(r, one->keys[1]));
	if (!one->command)
		return cause;
	command = &commands->all[one->command - 1];
	return report_format(r, "%s, by %s", cause,
			     command->part ? commands_part_words(command->part) : command->name);
}

static struct value without_causes_value(struct report *r, const struct without_case *one)
{
	const char *first = cause_name(one->keys[0] % CAUSE_MAX);

	return value_json(one->keys[1] == EXCESS_KEYS ?
			  report_format(r, "[\"%s\"]", first) :
			  report_format(r, "[\"%s\", \"%s\"]", first,
					cause_name(one->keys[1] % CAUSE_MAX)));
}

/* Returns on which side the causes are: "client", "server" or "both"; null for messages. */
static struct value without_side_value(const struct population *p, const struct without_case *one)
{
	const bool first = one->keys[0] >= CAUSE_MAX;
	const bool second = one->keys[1] == EXCESS_KEYS ? first : one->keys[1] >= CAUSE_MAX;

	return value_string(!p->requests ? NULL : one->command || first != second ? "both" :
			    first ? "client" : "server");
}

static void without_add_row(const struct population *p, struct report *r, struct table *t,
			    const struct without_case *one)
{
	const struct task_command *command =
		one->command ? &p->rec->commands.all[one->command - 1] : NULL;
	const struct without_quantile *l = &one->latency;

	TABLE_ADD(t, value_string(without_label(p, r, one)),
		  value_string(without_value(r, l)), without_causes_value(r, one),
		  without_side_value(p, one), value_string(command ? command->name : NULL),
		  value_string(command ? commands_part_name(command->part) : NULL),
		  l->below ? value_null() : value_ns(l->ns),
		  l->below ? value_ns(l->ns) : value_null(),
		  l->bounded && !l->lo_below ? value_ns(l->lo_ns) : value_null(),
		  l->bounded ? value_ns(l->hi_ns) : value_null(),
		  value_fraction(without_gain(p->without, one)));
}

static struct value without_table(const struct population *p, struct report *r)
{
	const struct column columns[] = {
		{ NULL, report_format(r, "%s without", without_name(r, p->without)), 0, 0 },
		{ NULL, "would be", 0, 0 },
		{ "causes", NULL, 0, 0 },
		{ "side", NULL, 0, 0 },
		{ "command", NULL, 0, 0 },
		{ "hostlat", NULL, 0, 0 },
		{ "ns", NULL, 0, 0 },
		{ "below_ns", NULL, 0, 0 },
		{ "lo_ns", NULL, 0, 0 },
		{ "hi_ns", NULL, 0, 0 },
		{ "gain", "lower by", 0, 0 },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (uint32_t i = 0; i < p->without->n; i++)
		without_add_row(p, r, t, &p->without->cases[i]);
	return value_table(t);
}

void report_without(const struct population *p, struct report *r, struct object *to)
{
	const struct without *w = p->without;
	struct object *o;

	if (!w) {
		object_add(to, "without", value_null());
		return;
	}
	o = object_new(r);
	object_add(o, "quantile", value_number(w->q));
	object_add(o, "ns", value_ns(w->now.ns));
	object_add(o, "lo_ns", w->now.bounded && !w->now.lo_below ? value_ns(w->now.lo_ns) :
								    value_null());
	object_add(o, "hi_ns", w->now.bounded ? value_ns(w->now.hi_ns) : value_null());
	object_add(o, "confidence", value_number(WITHOUT_CONFIDENCE));
	object_add(o, "floor_ns", value_ns(w->floor_ns));
	object_add(o, "messages", value_u64(w->messages));
	object_add(to, "without", value_object(o));
	object_add(to, "without_cases", w->n ? without_table(p, r) : value_null());
	if (p->findings)
		without_add_pair_finding(r, w);
}
