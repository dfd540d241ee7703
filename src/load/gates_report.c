/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gates_report.h"

#include <string.h>

#include "load/gates.h"
#include "load/verdict.h"
#include "report/human.h"

void gates_report(const struct load_analysis *a, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "name" }, { .name = "statistic" }, { .name = "threshold" },
		{ .name = "p" }, { .name = "pass" }, { .name = "allowed" },
		{ .name = "run_only" }, { .name = "tolerated" },
	};
	static const struct column reasons[] = { { .name = "name" }, { .name = "why" } };
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct table *untested = table_new(r, reasons, ARRAY_LEN(reasons));

	for (int i = 0; i < GATES; i++) {
		const struct gate *g = &a->result.gates[i];

		if (g->known) {
			TABLE_ADD(t, value_string(gate_name(i)), value_number(g->statistic),
				  value_number(g->threshold),
				  g->tested ? value_number(g->p) : value_null(),
				  value_bool(g->pass), value_bool(g->allowed),
				  value_bool(g->run_only), value_bool(g->tolerated));
		} else if (g->untested) {
			TABLE_ADD(t, value_string(gate_name(i)), value_null(), value_null(),
				  value_null(), value_null(), value_null(), value_null(),
				  value_null());
			TABLE_ADD(untested, value_string(gate_name(i)), value_string(g->untested));
		}
	}
	object_add(&r->body, "gates", value_table(t));
	object_add(&r->body, "not_tested", value_table(untested));
}

/* ---- text ---- */

/* Gates (validity checks) of one group share a check mark (passed or failed) in the text. */
struct gate_group {
	const char *words, *partly; /* name of the group; name if its last gate was not tested */
	enum gate_id first, last;
};

static const struct gate_group gate_groups[] = {
	{ "rate", "rate", GATE_SERVER, GATE_RATE },
	{ "arrivals", "arrivals", GATE_SCHEDULE, GATE_ARRIVALS },
	{ "open loop", "open loop", GATE_LOOP, GATE_LOOP },
	{ "client", "client", GATE_CLIENT, GATE_SAMPLES },
	{ "low host interference", "low host interference", GATE_NOISE, GATE_HOST },
	{ "replies", "replies", GATE_ERRORS, GATE_AGENTS },
	{ "dependence accounted for", "", GATE_DEPENDENCE, GATE_DEPENDENCE },
	{ "stationary", "stationary at p50", GATE_UNIT_ROOT, GATE_PERIODIC_TAIL },
	{ "interval", "interval", GATE_EXCEEDANCES, GATE_WIDTH },
};

/* Names an untested gate of a group in which other gates were tested. */
static const char *gate_words(const struct load_analysis *a, int id, struct report *r)
{
	const double q = a->config.percentile > 0.5 ? a->config.percentile : a->tail_q;

	switch (id) {
	case GATE_TREND_MEDIAN:
	case GATE_SHIFT_MEDIAN:
	case GATE_PERIODIC_MEDIAN:
		return "stationary at p50";
	case GATE_TREND_TAIL:
	case GATE_SHIFT_TAIL:
	case GATE_PERIODIC_TAIL:
		return report_format(r, "stationary at p%.10g", 100 * q);
	default:
		return gate_name(id);
	}
}

static const char *gates_report_append(struct report *r, const char *words, const char *between,
				       const char *more)
{
	return report_format(r, "%s%s%s", words ? words : "", words ? between : "", more);
}

static const char *add_untested(const char *words, const char *what, const char *why,
				struct report *r)
{
	return gates_report_append(r, words, ", ", report_format(r, "%s (%s)", what, why));
}

struct tally {
	bool judged, pass, allowed; /* a gate was judged; none failed; one failed but is allowed */
	const char *untested; /* why the first untested gate was not tested */
};

static struct tally tally_of(const struct load_analysis *a, const struct gate_group *group)
{
	struct tally t = { .pass = true };

	for (int id = group->first; id <= (int)group->last; id++) {
		const struct gate *g = &a->result.gates[id];

		t.judged |= g->known;
		t.pass &= !gate_objects(g);
		t.allowed |= g->allowed;
		if (!t.untested)
			t.untested = g->untested;
	}
	return t;
}

/*
 * Appends a group's untested gates to `words`, if the group also has tested gates; the tests of one
 * quantile count as one gate.
 */
static const char *list_untested(const struct load_analysis *a, const struct gate_group *group,
				 const char *words, struct report *r)
{
	const char *last = "";

	for (int id = group->first; id <= (int)group->last; id++) {
		const struct gate *g = &a->result.gates[id];
		const char *what = g->untested ? gate_words(a, id, r) : last;

		if (strcmp(what, last) != 0)
			words = add_untested(words, what, g->untested, r);
		last = what;
	}
	return words;
}

void gates_report_words(const struct load_analysis *a, struct report *r)
{
	const bool sound = verdict_sound(a);
	const char *words = NULL, *untested = NULL;
	char time[HUMAN_MAX];

	for (size_t i = 0; i < ARRAY_LEN(gate_groups); i++) {
		const struct gate_group *group = &gate_groups[i];
		const struct tally t = tally_of(a, group);
		const bool partly = a->result.gates[group->last].untested;

		if (t.judged || !t.pass)
			words = gates_report_append(r, words, "  ",
				       report_format(r, "%s %s",
						     partly ? group->partly : group->words,
						     !t.pass ? "✗" : t.allowed ? "~" : "✓"));
		if (t.untested && !t.judged)
			untested = add_untested(untested, group->words, t.untested, r);
		else if (t.untested)
			untested = list_untested(a, group, untested, r);
	}
	report_finding(r, "%s%s%s%s: %s  (%u decision%s)%s%s",
		       !sound ? "not sound" : untested ? "sound as far as tested" : "sound",
		       a->elapsed_ns ? " for these " : "",
		       a->elapsed_ns ? human_ns(time, a->elapsed_ns) : "",
		       a->elapsed_ns && a->result.run_only ? " only" : "",
		       words ? words : "nothing measured", a->looks, a->looks == 1 ? "" : "s",
		       untested ? "; not tested: " : "", untested ? untested : "");
}
