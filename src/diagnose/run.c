/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the excess of the targets (messages to explain) from messages' breakdowns, with a
 * baseline for each application.
 */
#include "diagnose/diagnose.h"

#include <errno.h>
#include <stdlib.h>

#include "diagnose/functions.h"
#include "diagnose/references.h"
#include "diagnose/request_causes.h"
#include "diagnose/requests.h"
#include "diagnose/without.h"

int diagnosis_new(struct diagnosis **out, const struct diagnose_options *options)
{
	static const struct diagnose_method usual = { .noise_times = DIAGNOSE_NOISE_TIMES,
							.function_mads = 3 };
	struct diagnosis *d = calloc(1, sizeof(*d));

	*out = d;
	if (!d)
		return -ENOMEM;
	d->options = *options;
	if (!d->options.method)
		d->options.method = &usual;
	vec_init(&d->baselines, SUBJECTS_MAX);
	vec_init(&d->excesses, SUBJECTS_MAX);
	vec_init(&d->near, SUBJECTS_MAX);
	hist_init(&d->latency, LATENCY_SCHEMA);
	hist_init(&d->target_latency, LATENCY_SCHEMA);
	hist_init(&d->reference_latency, LATENCY_SCHEMA);
	for (uint32_t i = 0; i < OVER_TIME_STEPS; i++)
		hist_init(&d->over_time[i], LATENCY_SCHEMA);
	return 0;
}

void diagnosis_free(struct diagnosis *d)
{
	if (!d)
		return;
	functions_free(d->functions);
	recorded_release(&d->own);
	recorded_release(&d->other);
	vec_release(&d->baselines);
	vec_release(&d->excesses);
	vec_release(&d->near);
	free(d->without);
	request_causes_free(d->request_causes);
	if (d->requests)
		requests_release(d->requests);
	free(d->requests);
	hist_release(&d->latency);
	hist_release(&d->target_latency);
	hist_release(&d->reference_latency);
	for (uint32_t i = 0; i < OVER_TIME_STEPS; i++)
		hist_release(&d->over_time[i]);
	free(d);
}

/* ---- baselines ---- */

/*
 * Computes the baseline of the application of `target`, from 0 or more reference messages. Returns
 * 0 or -ENOMEM.
 */
static int diagnosis_make_baseline(struct diagnosis *d, const struct message *target)
{
	const struct recorded *rec = references_of(d);
	const struct breakdown **breakdowns = calloc(rec->subjects.len + 1, sizeof(*breakdowns));
	struct baseline baseline = { .pid = target->pid };
	uint32_t n = 0;
	int err = breakdowns ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < rec->subjects.len; i++) {
		if (references_serve(d, target, i))
			breakdowns[n++] = &rec->breakdowns[i];
	}
	if (!err && n)
		err = baseline_make(&baseline, breakdowns, n);
	if (!err)
		err = vec_push(&d->baselines, baseline);
	free(breakdowns);
	return err;
}

/* Returns the index of the baseline of the application of `target`, or -errno. */
static int diagnosis_find_baseline(struct diagnosis *d, const struct message *target)
{
	int err;

	for (size_t i = 0; i < d->baselines.len; i++)
		if (d->baselines.items[i].pid == target->pid)
			return (int)i;
	err = diagnosis_make_baseline(d, target);
	return err ? err : (int)d->baselines.len - 1;
}

/* ---- targets ---- */

/* Adds a subject's excess to `out`, unless its application has too few references. */
static int diagnosis_compute_excess(struct diagnosis *d, uint32_t subject, struct excess_list *out)
{
	const struct excess_options options = {
		.granularity = d->own.granularity,
		.rest = d->own.messages.departures ? WHERE_TRANSMIT : WHERE_APPLICATION,
		.noise_times = d->options.method->noise_times,
	};
	const struct message *m = subject_message(&d->own, subject);
	struct excess excess = { .subject = subject };
	int at = diagnosis_find_baseline(d, m);

	if (at < 0)
		return at;
	if (d->baselines.items[at].n < REFERENCE_MIN) {
		d->without_baseline += d->own.subjects.items[subject].target;
		return 0;
	}
	excess.baseline = (uint32_t)at;
	excess_of(&d->baselines.items[at], &d->own.breakdowns[subject], message_latency(m),
		  &options, &excess);
	return vec_push(out, excess);
}

static int diagnosis_compute_excesses(struct diagnosis *d)
{
	int err = 0;

	for (uint32_t i = 0; i < d->own.subjects.len && !err; i++) {
		const struct subject *s = &d->own.subjects.items[i];

		if (s->target)
			err = diagnosis_compute_excess(d, i, &d->excesses);
		else if (s->near)
			err = diagnosis_compute_excess(d, i, &d->near);
	}
	return err;
}

/* ---- distributions ---- */

static int diagnosis_record_all(struct diagnosis *d)
{
	const struct messages *all = &d->own.messages;
	const uint64_t step = (all->to - all->from) / OVER_TIME_STEPS + 1;
	int err = 0;

	vec_for_each(&all->all, m) {
		const uint64_t latency = message_latency(m);

		err = hist_record(&d->latency, latency);
		if (!err)
			err = hist_record(&d->over_time[(m->read - all->from) / step], latency);
		if (err)
			break;
	}
	return err;
}

static int diagnosis_record_chosen(struct diagnosis *d)
{
	const struct recorded *rec = references_of(d);
	int err = 0;

	for (uint32_t i = 0; !err && i < d->own.subjects.len; i++)
		if (d->own.subjects.items[i].target)
			err = hist_record(&d->target_latency,
					  message_latency(subject_message(&d->own, i)));
	for (uint32_t i = 0; !err && i < rec->subjects.len; i++)
		if (references_have(d, i))
			err = hist_record(&d->reference_latency,
					  message_latency(subject_message(rec, i)));
	return err;
}

/* Reads the load's recording, and marks the messages of its chosen requests. 0 or -errno. */
static int diagnosis_join(struct diagnosis *d, bool **marks)
{
	d->requests = calloc(1, sizeof(*d->requests));
	*marks = calloc(d->own.messages.all.len + 1, sizeof(**marks));
	if (!d->requests || !*marks)
		return -ENOMEM;
	return requests_join(d->requests, &d->options.load, &d->own) ?:
	       (requests_mark(d->requests, *marks), 0);
}

static int diagnosis_read(struct diagnosis *d, struct event_reader *reader)
{
	bool *marks = NULL;
	int err;

	d->own.hostlat = d->options.hostlat;
	err = recorded_open(&d->own, reader, d->options.selection.direction);
	d->own.times.style = d->options.times;
	if (!err && d->options.load.reader)
		err = diagnosis_join(d, &marks);
	if (!err)
		err = recorded_explain(&d->own, &d->options.selection, marks);
	free(marks);
	return err;
}

static int diagnosis_read_other(struct diagnosis *d, struct event_reader *against)
{
	struct message_selection selection = d->options.selection;

	d->against_other = true;
	selection.wider = false;
	return recorded_read(&d->other, against, &selection);
}

int diagnosis_run(struct diagnosis *d, struct event_reader *reader, struct event_reader *against)
{
	int err = diagnosis_read(d, reader);

	if (!err && against)
		err = diagnosis_read_other(d, against);
	if (!err && d->own.messages.all.len)
		err = diagnosis_record_all(d);
	if (!err)
		err = diagnosis_record_chosen(d);
	if (!err)
		err = diagnosis_compute_excesses(d);
	if (!err)
		err = without_find_messages(&d->without, d);
	if (!err && d->requests)
		err = request_causes_find(&d->request_causes, d->requests, &d->own);
	return err ? err : functions_find(d);
}
