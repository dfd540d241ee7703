/* SPDX-License-Identifier: Apache-2.0 */
/* `compare --calibrate`: how often recordings of one set-up are reported to differ. */
#include <errno.h>
#include <math.h>

#include "cmd/compare_sides.h"
#include "report/calibration.h"
#include "report/human.h"

static void compare_calibrate_say(const struct calibration_result *c, const char *of,
				  struct report *r)
{
	const double deviation = c->deviation[REPORT_P99], found = c->found[REPORT_P99];
	char share[HUMAN_MAX], drawn[HUMAN_MAX];

	report_finding(r, "Of %u pairs, %s differ in a quantile of the %s by the test of two "
		       "recordings (at most 5 %% if recordings varied no more than within).",
		       c->pairs, human_fraction(share, (double)c->pairs_differ[CALIBRATION_ANY] /
						       c->pairs), of);
	if (c->single)
		report_finding(r, "Of %u recordings, %s differ from all others.", c->single,
			       human_fraction(drawn, (double)c->single_differ[CALIBRATION_ANY] /
						     c->single));
	if (c->drawn)
		report_finding(r, "Of %u random draws of 3 against 3, which share recordings, %s "
			       "differ.", c->drawn,
			       human_fraction(drawn, (double)c->drawn_differ[CALIBRATION_ANY] /
						     c->drawn));
	if (deviation == deviation)
		report_finding(r, "The %s' p99 varies by %s between recordings (one standard "
			       "deviation): with 3 per side, 9 of 10 comparisons find a change by "
			       "%s or more.", of, calibration_change_words(r, expm1(deviation)),
			       calibration_change_words(r, found));
}

static int compare_calibrate_one(const struct difference_series *series, const char *of,
				 struct table *t, struct report *r)
{
	struct calibration_result c;
	int err = calibration_run(series, &c);

	if (err)
		return err;
	compare_calibrate_say(&c, of, r);
	calibration_add(&c, of, t, r);
	return 0;
}

static int compare_calibrate_load(struct compare_sides *in, struct table *t, struct report *r)
{
	const struct load_compared runs = compare_side_load(&in->sides[0]);
	struct load_series_of_runs *series;
	int err = load_series_new(&series, &runs);

	load_compare_check_rates(&runs, &(struct load_compared){ 0 }, r);
	if (!err)
		err = compare_calibrate_one(load_series_get(series), "requests", t, r);
	else if (err == -EINVAL)
		report_reason(r, "load-unlike", NULL, "one run measured latency from the intended "
			      "send, the other run from the actual send");
	load_series_free(series);
	return err == -EINVAL ? 0 : err;
}

int compare_sides_calibrate(struct compare_sides *in, struct report *r)
{
	const struct compare_side *side = &in->sides[0];
	struct table *t = calibration_table(r);
	int err = 0;

	report_title(r, "%zu recordings of one set-up (%s to %s)", side->n, side->inputs[0].file,
		     side->inputs[side->n - 1].file);
	report_place_findings(r);
	object_add(&r->body, "recordings", value_u64(side->n));
	if (in->load)
		err = compare_calibrate_load(in, t, r);
	if (!err && in->messages)
		err = compare_calibrate_one(comparison_series(in->messages, 0), "messages", t, r);
	object_add(&r->body, "calibration", value_table(t));
	if (!in->load && !in->messages)
		report_reason(r, "nothing-in-common", NULL, "not all recordings have requests of a "
			      "load generator or messages: there is nothing to calibrate by");
	report_headline(r, "%s", r->findings.first ? r->findings.first->string :
			"How much the recordings differ is not known.");
	compare_side_add_damage(side, r);
	report_place_verdict(r);
	return err ? err : report_error(r);
}
