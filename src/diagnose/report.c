/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a whole: the messages analyzed, the causes, and how much they explain. */
#include "diagnose/sections.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "diagnose/requests.h"
#include "diagnose/words.h"
#include "event/names.h"
#include "report/human.h"

/* If the causes explain a smaller share of the excess, the verdict is unreliable. */
#define COVERAGE_LOW 0.8
/* Parts below the baseline that are a greater share of those above it make messages unlike. */
#define UNLIKE_SHARE 0.3

/* ---- analyzed messages ---- */

static void diagnosis_add_recording(const struct diagnosis *d, struct report *r)
{
	const struct recorded *rec = &d->own;
	struct object *o = object_new(r);
	const bool any = rec->messages.all.len;

	object_add(o, "from_ns", any ? value_ns(rec->messages.from) : value_null());
	object_add(o, "to_ns", any ? value_ns(rec->messages.to) : value_null());
	object_add(o, "duration_ns",
		   any ? value_ns(rec->messages.to - rec->messages.from) : value_null());
	times_add_span(&rec->times, o, rec->messages.from, rec->messages.to);
	object_add(o, "granularity_ns", value_ns(rec->granularity));
	object_add(o, "machine", value_string(rec->machine));
	object_add(o, "cores", value_u64(rec->cores));
	object_add(o, "lost", value_u64(rec->lost));
	object_add(&r->body, "recording", value_object(o));
}

static uint32_t diagnosis_count_subjects(const struct recorded *rec, bool targets)
{
	uint32_t n = 0;

	vec_for_each(&rec->subjects, s)
		n += targets ? s->target : s->reference;
	return n;
}

static uint32_t diagnosis_count_references(const struct diagnosis *d)
{
	return d->against_other ? diagnosis_count_subjects(&d->other, true) :
	       diagnosis_count_subjects(&d->own, false);
}

static void diagnosis_add_messages(const struct diagnosis *d, struct report *r)
{
	const struct messages *m = &d->own.messages;
	const uint64_t n = m->all.len + m->beyond;
	const bool sent = m->departures;
	struct object *o = object_new(r);

	object_add(o, "count", value_u64(sent ? m->others : n));
	object_add(o, "sent", value_u64(sent ? n : m->others));
	object_add(o, "target", value_u64(diagnosis_count_subjects(&d->own, true)));
	object_add(o, "reference", value_u64(diagnosis_count_references(d)));
	object_add(&r->body, "messages", value_object(o));
	o = object_new(r);
	object_add(o, "all", value_distribution(r, &d->latency));
	object_add(o, "target", value_distribution(r, &d->target_latency));
	object_add(o, "reference", value_distribution(r, &d->reference_latency));
	object_add(&r->body, "latency", value_object(o));
}

static void diagnosis_add_automatic(const struct diagnosis *d, struct report *r)
{
	report_summary(r, "compared with the fastest tenth, as the usual message takes more than 3 "
		       "times as long as p5");
	if (d->own.selected.usual_is_fast)
		report_summary(r, "(of %" PRIu32 " of %" PRIu32 " applications)",
			       d->own.selected.usual_is_slow,
			       d->own.selected.usual_is_slow + d->own.selected.usual_is_fast);
}

static void diagnosis_add_title(const struct diagnosis *d, struct report *r)
{
	const struct message_selection *s = &d->options.selection;
	const bool sent = d->own.messages.departures;
	char targets[HUMAN_MAX], count[HUMAN_MAX];

	report_title(r, "%s%s of %s %smessages",
		     human_count(targets, diagnosis_count_subjects(&d->own, true)),
		     s->slowest || s->to == 1 ? " slowest" : "",
		     human_count(count, d->own.messages.all.len), sent ? "sent " : "");
	if (d->against_other)
		report_summary(r, "compared with the same slice of another recording");
	else if (s->against == AGAINST_FASTEST)
		report_summary(r, "compared with the fastest messages");
	else if (d->own.selected.usual_is_slow)
		diagnosis_add_automatic(d, r);
	else
		report_summary(r, "compared with the messages from %g %% to %g %%",
			       100 * s->against_from, 100 * s->against_to);
	if (d->own.messages.all.len)
		times_add_span_text(&d->own.times, r, "", d->own.messages.from, d->own.messages.to);
}

/* ---- explained share ---- */

static int diagnosis_compare_double(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct coverage {
	double *values;  /* explained shares of the excess, ascending */
	size_t n;
	uint64_t over;   /* messages whose causes sum to more than their excess */
};

static int diagnosis_coverage(const struct diagnosis *d, struct coverage *c)
{
	*c = (struct coverage){ .values = calloc(d->excesses.len + 1, sizeof(*c->values)) };
	if (!c->values)
		return -ENOMEM;
	vec_for_each(&d->excesses, j) {
		if (isnan(j->coverage))
			continue;
		c->over += j->coverage > 1;
		c->values[c->n++] = j->coverage > 1 ? 1 : j->coverage;
	}
	qsort(c->values, c->n, sizeof(*c->values), diagnosis_compare_double);
	return 0;
}

static struct value diagnosis_coverage_at(const struct coverage *c, double q)
{
	if (!c->n)
		return value_null();
	return value_fraction(c->values[(size_t)((double)(c->n - 1) * q)]);
}

static void diagnosis_add_coverage(const struct coverage *c, struct report *r)
{
	struct object *o = object_new(r);
	char middle[HUMAN_MAX], worst[HUMAN_MAX];

	object_add(o, "messages", value_u64(c->n));
	object_add(o, "median", diagnosis_coverage_at(c, 0.5));
	object_add(o, "p10", diagnosis_coverage_at(c, 0.1));
	object_add(o, "min", diagnosis_coverage_at(c, 0));
	object_add(o, "over_attributed", value_u64(c->over));
	object_add(&r->body, "coverage", value_object(o));
	if (c->n)
		report_summary(r, "coverage %s median, %s worst",
			       human_fraction(middle, diagnosis_coverage_at(c, 0.5).fraction),
			       human_fraction(worst, c->values[0]));
}

/*
 * Returns the largest difference in ns between the latency of a target (a message to explain) and
 * the sum of its parts.
 */
static uint64_t diagnosis_partition_error(const struct diagnosis *d)
{
	uint64_t worst = 0;

	vec_for_each(&d->excesses, j) {
		int64_t sum = (int64_t)j->expected + j->offset - (int64_t)j->latency;
		uint64_t error;

		for (unsigned int place = 0; place < CAUSE_PLACES; place++)
			sum += (int64_t)j->ns[place];
		error = (uint64_t)(sum < 0 ? -sum : sum);
		worst = error > worst ? error : worst;
	}
	return worst;
}

static void diagnosis_add_excess(const struct diagnosis *d, struct report *r)
{
	const struct excess_total excess = excess_total(&d->excesses);
	struct object *o = object_new(r);

	object_add(o, "found_ns", value_ns(excess.found));
	object_add(o, "rest_ns", value_ns(excess.rest));
	object_add(o, "less_ns", value_ns(excess.less));
	object_add(&r->body, "excess", value_object(o));
}

static uint64_t diagnosis_not_recorded_ns(const struct diagnosis *d)
{
	uint64_t ns = 0;

	vec_for_each(&d->excesses, j)
		for (unsigned int w = 0; w < WHERE_MAX; w++)
			ns += d->own.breakdowns[j->subject].ns[CAUSE_PLACE(CAUSE_NOT_RECORDED, w)];
	return ns;
}

/* ---- reasons to distrust the result ---- */

void report_source_reasons(const struct recorded *rec, struct report *r, const char *which)
{
	char buf[HUMAN_MAX];

	if (rec->damage.reasons)
		report_reason(r, "recording-damaged", NULL, "%s is damaged or incomplete", which);
	if (rec->lost)
		report_reason(r, "events-lost",
			      words_count(r, rec->lost, "event"),
			      "%s is incomplete: messages or CPU activity were lost", which);
	if (rec->names_lost)
		report_reason(r, "names-not-kept",
			      words_count(r, rec->names_lost, "name"),
			      "%s lacks some names, such as those of threads: a recording holds at "
			      "most 65,536 names of each kind and 4 MiB in all", which);
	if (rec->forgot)
		report_reason(r, "memory-limit", words_count(r, rec->forgot, "time"),
			      "events beyond the memory limit were dropped in %s: their time "
			      "counts as not recorded", which);
	if (rec->contexts.lost_ns)
		report_reason(r, "contexts-limit",
			      report_format(r, "%s", human_ns(buf, rec->contexts.lost_ns)),
			      "%s has more tasks and interrupts than the limit of %u", which,
			      CONTEXTS_MAX);
	if (rec->messages.beyond)
		report_reason(r, "too-many-messages",
			      words_count(r, rec->messages.beyond, "message"),
			      "%s has more messages than the limit of %u", which, MESSAGES_MAX);
	if (rec->selected.dropped)
		report_reason(r, "too-many-messages",
			      words_count(r, rec->selected.dropped, "message"),
			      "only the %u slowest of the selected messages of %s are explained",
			      SUBJECTS_MAX, which);
	if (rec->flows_lost)
		report_reason(r, "too-many-connections",
			      words_count(r, rec->flows_lost, "connection"),
			      "%s has more connections than the limit of %u", which, FLOWS_MAX);
	if (rec->messages.invalid)
		report_reason(r, "contradiction",
			      words_count(r, rec->messages.invalid, "message"),
			      rec->messages.departures ?
			      "some messages in %s are ignored: by their times, they left before "
			      "their send call began" :
			      "some messages in %s are ignored: by their times, they were read "
			      "before they arrived", which);
	if (rec->messages.all.len && !rec->cores)
		report_reason(r, "no-activity", NULL,
			      "%s has no CPU activity (record --with messages,activity)", which);
	if (rec->messages.all.len && !rec->calls.table)
		report_reason(r, "unknown-machine", rec->machine,
			      "hostlat does not know the system calls of the machine that made %s",
			      which);
}

/* Reports that there are no messages. An unmeasured stage explains that best, if there is one. */
static void diagnosis_add_no_messages(const struct recorded *rec, struct report *r)
{
	const char *sent = rec->messages.departures ? "sent " : "";
	const struct event_binding *b = &rec->unbound[rec->messages.departures != NULL];
	const char *why = event_dict_get(rec->names, DICT_STRING, b->why);

	if (b->stage && why)
		report_reason(r, "no-messages", why,
			      "the recording has no %smessages: `%s` was not measured", sent,
			      stage_name(b->stage));
	else
		report_reason(r, "no-messages", NULL,
			      "the recording has no %smessages (record --with messages,activity)",
			      sent);
}

static void diagnosis_add_reasons(const struct diagnosis *d, const struct coverage *c,
				  struct report *r)
{
	report_source_reasons(&d->own, r, "the recording");
	if (d->against_other)
		report_source_reasons(&d->other, r, "the baseline's recording");
	if (!d->own.messages.all.len)
		diagnosis_add_no_messages(&d->own, r);
	if (d->without_baseline)
		report_reason(r, "few-references", words_count(r, d->without_baseline, "message"),
			      "some messages are not explained: their application has fewer than "
			      "%u reference messages to compare with", REFERENCE_MIN);
	if (c->n && c->values[(c->n - 1) / 2] < COVERAGE_LOW)
		report_reason(r, "low-coverage", NULL,
			      "less than %.0f %% of the excess is explained at the median",
			      100 * COVERAGE_LOW);
}

/* Reports parts that took less than the baseline, if they are much against those that took more. */
static void diagnosis_add_unlike(const struct diagnosis *d, struct report *r)
{
	const struct excess_total excess = excess_total(&d->excesses);
	const double part = (double)excess.less / (double)excess.found;
	char less[HUMAN_MAX], more[HUMAN_MAX], mean[HUMAN_MAX], share[HUMAN_MAX];

	if (!excess.found || part <= UNLIKE_SHARE)
		return;
	report_reason(r, "unlike-reference",
		      report_format(r, "%s less, %s more", human_ns(less, excess.less),
				    human_ns(more, excess.found)),
		      "the slow messages are unlike the reference messages: other parts took %s "
		      "less at the mean, %s of the causes' extra time",
		      human_ns(mean, excess.less / d->excesses.len), human_fraction(share, part));
}

static void diagnosis_add_no_finding(const struct diagnosis *d, const struct coverage *c,
				     struct report *r)
{
	const struct excess_total excess = excess_total(&d->excesses);

	if (d->excesses.len && !c->n)
		report_finding(r, "No selected message is slower than the baseline by more than "
			       "the measurement can resolve.");
	else if (d->excesses.len && !excess.found && !diagnosis_not_recorded_ns(d))
		report_finding(r,
			       "No cause stands out from the variation of the reference messages.");
}

int diagnosis_report(const struct diagnosis *d, struct report *r)
{
	const bool requests = report_requests_known(d);
	const struct population messages = {
		.rec = &d->own, .breakdowns = d->own.breakdowns, .excesses = &d->excesses,
		.without = d->without, .findings = !requests,
	};
	struct coverage coverage;
	int err = diagnosis_coverage(d, &coverage);

	if (err)
		return err;
	err = report_headline_of_messages(d, r);
	diagnosis_add_title(d, r);
	object_add(&r->body, "direction",
		   value_string(direction_name(d->options.selection.direction)));
	diagnosis_add_recording(d, r);
	diagnosis_add_messages(d, r);
	diagnosis_add_coverage(&coverage, r);
	diagnosis_add_excess(d, r);
	object_add(&r->body, "partition_error_ns", value_ns(diagnosis_partition_error(d)));
	object_add(&r->body, "blind_ns", value_ns(diagnosis_not_recorded_ns(d)));
	if (!err && d->requests)
		err = report_requests(d, r, requests);
	if (!err)
		err = report_causes(&messages, r, &r->body);
	report_without(&messages, r, &r->body);
	if (!err)
		err = report_usual(d, r, !requests);
	report_baselines(d, r);
	if (!err)
		err = report_functions(d, r);
	if (!err)
		err = report_examples(d, r);
	if (!err)
		err = report_views(d, r);
	diagnosis_add_no_finding(d, &coverage, r);
	diagnosis_add_reasons(d, &coverage, r);
	diagnosis_add_unlike(d, r);
	report_place_findings(r);
	report_place_verdict(r);
	free(coverage.values);
	return err ? err : report_error(r);
}
