/* SPDX-License-Identifier: Apache-2.0 */
#include "load/quantile_words.h"

#include "load/analysis_state.h"
#include "load/methods.h"
#include "report/human.h"

static const char *const codes[] = {
	[LOAD_WHY_NONE] = NULL,
	[LOAD_WHY_NO_SAMPLES] = "no-replies",
	[LOAD_WHY_FEW_REQUESTS] = "few-requests",
	[LOAD_WHY_SHORT] = "short-run",
	[LOAD_WHY_FAILURES] = "failures",
	[LOAD_WHY_DISTURBED] = "disturbed",
	[LOAD_WHY_STOPPED] = "host-stopped",
	[LOAD_WHY_CENSORED] = "no-stamps",
	[LOAD_WHY_UNSTABLE] = "excision-not-stable",
	[LOAD_WHY_METHOD] = "method",
};

const char *load_why_code(enum load_why why)
{
	return codes[why];
}

const char *load_quantile_scope(const struct load_quantile *q)
{
	return q->run_only ? "run" : "server";
}

const char *load_quantile_name(struct report *r, double q)
{
	return report_format(r, "p%.10g", 100 * q);
}

/*
 * Unit of latencies shown with three digits, so that an interval of 1 % is visible; human_ns()
 * rounds to fewer digits.
 */
struct latency_unit {
	const char *name;
	double ns;
};

static struct latency_unit unit_of(uint64_t ns)
{
	if (ns < 1000)
		return (struct latency_unit){ "ns", 1 };
	if (ns < 1000000)
		return (struct latency_unit){ "µs", 1e3 };
	return ns < 1000000000 ? (struct latency_unit){ "ms", 1e6 }
			       : (struct latency_unit){ "s", 1e9 };
}

static const char *in_unit(struct report *r, uint64_t ns, const struct latency_unit *unit)
{
	const double x = (double)ns / unit->ns;

	return report_format(r, "%.*f", unit->ns == 1 || x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2, x);
}

const char *load_quantile_value(const struct load_quantile *q, struct report *r)
{
	const struct latency_unit unit = unit_of(q->ns);

	if (!q->known)
		return "n/a";
	if (q->bounded)
		return report_format(r, "%s %s  [%s, %s]", in_unit(r, q->ns, &unit), unit.name,
				     in_unit(r, q->lo_ns, &unit), in_unit(r, q->hi_ns, &unit));
	if (q->upper)
		return report_format(r, "at most %s %s  (%s observed)", in_unit(r, q->hi_ns, &unit),
				     unit.name, in_unit(r, q->ns, &unit));
	return report_format(r, "%s %s observed", in_unit(r, q->ns, &unit), unit.name);
}

const char *load_quantile_short(const struct load_quantile *q, bool bounds, struct report *r)
{
	const uint64_t ns = !q->bounded && q->upper ? q->hi_ns : q->ns;
	const struct latency_unit unit = unit_of(ns);

	if (!q->known)
		return "n/a";
	if (q->bounded && bounds)
		return report_format(r, "%s %s [%s, %s]", in_unit(r, ns, &unit), unit.name,
				     in_unit(r, q->lo_ns, &unit), in_unit(r, q->hi_ns, &unit));
	return report_format(r, "%s%s %s", q->bounded ? "" : q->upper ? "at most " : "about ",
			     in_unit(r, ns, &unit), unit.name);
}

/* Returns a number rounded up to two digits: it is an estimate. */
static uint64_t two_digits(uint64_t n)
{
	uint64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return (n + unit - 1) / unit * unit;
}

const char *load_quantile_why(const struct load_quantile *q, struct report *r)
{
	char text[HUMAN_MAX];

	switch (q->why) {
	case LOAD_WHY_NONE:
		return NULL;
	case LOAD_WHY_NO_SAMPLES:
		return "no request was answered";
	case LOAD_WHY_FEW_REQUESTS:
		return report_format(r, "needs about %s requests",
				     human_count(text, two_digits(q->needed)));
	case LOAD_WHY_SHORT:
		return "needs a longer run, as neighboring latencies depend on each other";
	case LOAD_WHY_FAILURES:
		return "a bound may be a request that failed or has no sample";
	case LOAD_WHY_DISTURBED:
		return report_format(r, "no lower bound, however many requests: this host may have "
				     "delayed %s of them", human_fraction(text, q->touched));
	case LOAD_WHY_STOPPED:
		return "this host stood still for too long, so more requests do not help";
	case LOAD_WHY_CENSORED:
		return "too many replies have no time stamp of their own (--outstanding 1 avoids "
		       "this)";
	case LOAD_WHY_UNSTABLE:
		return "it depends on how much time around gaps is left out";
	case LOAD_WHY_METHOD:
		return "--method lancet has too few samples, or does not bound this latency";
	}
	return NULL;
}

const char *load_quantile_line(const struct load_analysis *a, enum load_from from, double q,
			       struct report *r)
{
	const char *name = load_quantile_name(r, q), *value, *why;
	struct load_quantile found;

	load_analysis_quantile(a, from, q, &found);
	value = load_quantile_value(&found, r);
	why = load_quantile_why(&found, r);
	if (!found.known)
		return report_format(r, "%-5s n/a", name);
	if (found.upper)
		return report_format(r, "%-5s %s at %.10g %%%s%s%s", name, value,
				     100 * a->config.confidence,
				     found.run_only ? ", in this run only" : "",
				     why ? ": " : "", why ? why : "");
	return report_format(r, "%-5s %s, no interval: %s", name, value, why);
}
