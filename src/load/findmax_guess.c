/* SPDX-License-Identifier: Apache-2.0 */
#include "load/findmax_guess.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/human.h"

#define GUESS_RUNS 3 /* trial runs, at least */

/* Returns how many trial runs agree that the condition holds up to `rate`, and not above. */
static size_t findmax_guess_agreeing(const struct findmax_seen *seen, size_t n, double rate)
{
	size_t agree = 0;

	for (size_t i = 0; i < n; i++)
		agree += seen[i].holds == (seen[i].rate <= rate);
	return agree;
}

/* Returns the lowest rate above `rate` that was tried; 0: none. */
static double findmax_guess_above(const struct findmax_seen *seen, size_t n, double rate)
{
	double above = 0;

	for (size_t i = 0; i < n; i++) {
		if (seen[i].rate > rate && (!above || seen[i].rate < above))
			above = seen[i].rate;
	}
	return above;
}

bool findmax_guess(const struct findmax_seen *seen, size_t n, double lo, double hi,
		   struct findmax_guess *out)
{
	*out = (struct findmax_guess){ .rate = lo, .agree = findmax_guess_agreeing(seen, n, lo) };
	for (size_t i = 0; i < n; i++) {
		const double rate = seen[i].rate;
		const size_t agree = findmax_guess_agreeing(seen, n, rate);

		/* With as many others that agree, the lowest rate is the guess. */
		if (rate < lo || (hi && rate >= hi) || agree < out->agree ||
		    (agree == out->agree && rate >= out->rate))
			continue;
		*out = (struct findmax_guess){ .rate = rate, .agree = agree };
	}
	out->above = findmax_guess_above(seen, n, out->rate);
	return n >= GUESS_RUNS && 2 * out->agree > n;
}

/* Whether a trial run tells by its requests if the condition holds at its rate. */
static bool findmax_guess_sees(const struct load_summary *s)
{
	return s->saturated || (s->comparable && s->asked.known);
}

static size_t findmax_guess_take(const struct load_runs *runs, uint64_t limit_ns,
				 struct findmax_seen *seen)
{
	size_t n = 0;

	vec_for_each(runs, s) {
		if (findmax_guess_sees(s))
			seen[n++] = (struct findmax_seen){
				.rate = s->rate,
				.holds = s->comparable && s->asked.known && s->asked.ns < limit_ns,
			};
	}
	return n;
}

/* Whether the guess says more than what the search has shown. */
static bool findmax_guess_adds(const struct findmax_guess *g, const struct findmax *fm)
{
	return fm->end != FINDMAX_FOUND && fm->end != FINDMAX_ABOVE_MAX &&
	       fm->end != FINDMAX_BELOW_MIN && (g->rate != fm->lo || g->above != fm->hi);
}

static const char *findmax_guess_words(const struct findmax_guess *g, struct report *r)
{
	char rate[HUMAN_MAX], above[HUMAN_MAX];

	if (!g->rate)
		return report_format(r, "below %s/s", human_rate(above, g->above));
	if (!g->above)
		return report_format(r, "above %s/s", human_rate(rate, g->rate));
	return report_format(r, "between %s/s and %s/s", human_rate(rate, g->rate),
			     human_rate(above, g->above));
}

int findmax_guess_report(const struct load_runs *runs, const struct load_condition *condition,
			 const struct findmax *fm, struct object *o, struct report *r)
{
	struct findmax_seen *seen = calloc(runs->len + 1, sizeof(*seen));
	struct findmax_guess g;
	size_t n;
	bool known;

	if (!seen)
		return -ENOMEM;
	n = findmax_guess_take(runs, condition->limit_ns, seen);
	known = findmax_guess(seen, n, fm->lo, fm->hi, &g);
	free(seen);
	object_add(o, "guess_lo", value_number(known && g.rate ? g.rate : NAN));
	object_add(o, "guess_hi", value_number(known && g.above ? g.above : NAN));
	if (known && findmax_guess_adds(&g, fm))
		report_finding(r, "Best guess, not shown: the highest rate is %s, as %zu of %zu "
			       "trial runs saw it. To do: a longer --for, or a host where less "
			       "else runs.", findmax_guess_words(&g, r), g.agree, n);
	return 0;
}
