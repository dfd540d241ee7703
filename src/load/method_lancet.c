/* SPDX-License-Identifier: Apache-2.0 */
#include "load/method_lancet.h"

#include <errno.h>
#include <stdlib.h>

#include "load/gates.h"
#include "load/lancet.h"
#include "report/human.h"

static struct lancet *lancet_of(const struct load_analysis *a)
{
	return a->method_state;
}

static int lancet_start(struct load_analysis *a)
{
	a->method_state = malloc(sizeof(struct lancet));
	if (!a->method_state)
		return -ENOMEM;
	lancet_init(a->method_state);
	return 0;
}

static void lancet_end(struct load_analysis *a)
{
	if (a->method_state)
		lancet_release(a->method_state);
	free(a->method_state);
}

static int lancet_add_sample(struct load_analysis *a, const struct event_sample *sample)
{
	return lancet_add(a->method_state, sample);
}

static int lancet_look(struct load_analysis *a, uint64_t start_ns, uint64_t horizon_ns)
{
	struct lancet *l = a->method_state;
	const uint32_t tries = l->tries;
	int err = lancet_try(l, a->config.percentile, a->config.confidence, a->config.ci_width_ns);

	(void)start_ns;
	(void)horizon_ns;
	a->looks = l->tries;
	if (err || tries == l->tries)
		return err;
	a->decided = a->config.ci_width_ns && l->verdict == LANCET_DONE;
	a->decided_ns = UINT64_MAX;
	return a->decided ? LOAD_DECIDED : LOAD_MORE;
}

static void lancet_judge(struct load_analysis *a)
{
	const struct lancet *l = lancet_of(a);
	struct gate *gates = a->result.gates;

	gates[GATE_DEPENDENCE] = gates[GATE_UNIT_ROOT] = gates[GATE_WIDTH] =
		(struct gate){ .pass = true, .untested = "too few independent samples" };
	if (!a->config.ci_width_ns)
		gates[GATE_WIDTH].untested = NULL;
	gate_at_least(a, GATE_EXCEEDANCES, (double)lancet_samples(l), LANCET_STEP);
	if (l->verdict == LANCET_MORE) {
		gates[GATE_EXCEEDANCES].pass = false;
		return;
	}
	gate_at_least(a, GATE_DEPENDENCE, l->spearman_p, LANCET_ALPHA);
	gates[GATE_DEPENDENCE].pass = l->verdict != LANCET_DEPENDENT;
	gates[GATE_EXCEEDANCES].pass = l->bounded || l->verdict == LANCET_DEPENDENT;
	if (l->verdict == LANCET_DEPENDENT)
		return;
	gate_at_most(a, GATE_UNIT_ROOT, l->adf_p, LANCET_ALPHA);
	gates[GATE_UNIT_ROOT].pass = l->verdict != LANCET_NOT_STATIONARY;
	if (a->config.ci_width_ns && l->bounded)
		gate_at_most(a, GATE_WIDTH, (double)(l->hi_ns - l->lo_ns),
			     (double)a->config.ci_width_ns);
}

static bool lancet_evidence(const struct load_analysis *a, enum gate_id id, struct strbuf *out)
{
	const struct lancet *l = lancet_of(a);
	char buf[HUMAN_MAX], other[HUMAN_MAX];
	uint64_t needed;

	if (id != GATE_EXCEEDANCES && id != GATE_UNIT_ROOT && id != GATE_DEPENDENCE &&
	    id != GATE_WIDTH)
		return false;
	strbuf_printf(out, "%s samples, 1 of %s requests, %u tries",
		      human_count(buf, lancet_samples(l)), human_count(other, l->sampling),
		      l->tries);
	if (l->verdict == LANCET_MORE)
		strbuf_printf(out, ", %s are needed", human_count(buf, l->wanted));
	else if (id == GATE_EXCEEDANCES)
		strbuf_puts(out, ", a bound of the interval lies beyond all samples");
	else if (id == GATE_UNIT_ROOT)
		strbuf_printf(out, ", Dickey-Fuller p %.3g", l->adf_p);
	else if (id == GATE_DEPENDENCE)
		strbuf_printf(out, ", Spearman p %.3g", l->spearman_p);
	else
		strbuf_printf(out, ", [%s, %s]", human_ns(buf, l->lo_ns),
			      human_ns(other, l->hi_ns));
	needed = id == GATE_WIDTH ? gate_needed(a) : 0;
	if (needed)
		strbuf_printf(out, ", about %s requests are needed", human_count(buf, needed));
	return true;
}

static bool lancet_width(const struct load_analysis *a, double *requests, uint64_t *width_ns)
{
	const struct lancet *l = lancet_of(a);

	*requests = (double)l->used * (double)l->sampling;
	*width_ns = l->hi_ns - l->lo_ns;
	return l->bounded;
}

static void lancet_bound(const struct load_analysis *a, enum load_from from, double q,
			 const struct interval *interval, struct load_quantile *out)
{
	const struct lancet *l = lancet_of(a);

	(void)interval;
	if (out->why == LOAD_WHY_STOPPED || out->why == LOAD_WHY_CENSORED)
		return;
	out->why = LOAD_WHY_METHOD;
	out->needed = 0;
	if (from != LOAD_ACTUAL || l->verdict == LANCET_MORE || l->verdict == LANCET_DEPENDENT)
		return;
	out->bounded = lancet_quantile(l, q, a->config.confidence, &out->ns, &out->lo_ns,
				       &out->hi_ns);
	out->upper = out->bounded;
	out->why = out->bounded ? LOAD_WHY_NONE : LOAD_WHY_METHOD;
	out->confidence = a->config.confidence;
}

static void lancet_report(const struct load_analysis *a, struct object *o)
{
	const struct lancet *l = lancet_of(a);

	object_add(o, "tries", value_u64(l->tries));
	object_add(o, "sampling", value_number(1 / (double)l->sampling));
	object_add(o, "samples", value_u64(l->used));
}

const struct method method_lancet = {
	.from_actual = true,
	.init = lancet_start,
	.release = lancet_end,
	.add = lancet_add_sample,
	.look = lancet_look,
	.judge = lancet_judge,
	.evidence = lancet_evidence,
	.width = lancet_width,
	.bound = lancet_bound,
	.report = lancet_report,
};
