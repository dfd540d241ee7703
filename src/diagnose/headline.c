/* SPDX-License-Identifier: Apache-2.0 */
/* The diagnosis as one sentence: how slow, which cause is behind it, and who is behind that. */
#include <errno.h>

#include "diagnose/culprits.h"
#include "diagnose/request_causes.h"
#include "diagnose/sections.h"
#include "report/human.h"

/* Shares of a culprit in the cause's time: of all of it, of most of it. */
#define ALL_SHARE  0.95
#define MOST_SHARE 0.5

static struct population headline_population(const struct diagnosis *d)
{
	if (report_requests_known(d))
		return (struct population){ .rec = &d->own, .requests = true,
					    .breakdowns = d->request_causes->breakdowns,
					    .excesses = &d->request_causes->targets };
	return (struct population){ .rec = &d->own, .breakdowns = d->own.breakdowns,
				    .excesses = &d->excesses };
}

static int headline_add_culprits(const struct population *p, const struct main_cause *top,
				 struct cause_culprits *culprits)
{
	int err = 0;

	vec_for_each(p->excesses, e) {
		for (unsigned int w = 0; !err && w < WHERE_MAX; w++) {
			const unsigned int place = CAUSE_PLACE(top->cause, w);

			if (e->ns[place] && (w == WHERE_CLIENT) == top->client)
				err = culprits_add_message(culprits, &p->breakdowns[e->subject],
							   place, 1, e->ns[place]);
		}
	}
	return err ? err : culprits_finish(culprits);
}

/* Returns ", held mostly by gzip (4 processes)"; "" if nobody is known. */
static const char *headline_culprit(struct report *r, const struct cause_culprits *c,
				    unsigned int cause)
{
	const struct cause_culprit *top = c->all.len ? c->all.items : NULL;
	const char *name = top && cause != CAUSE_HEAD_OF_LINE ? culprit_name(c, r, top) : "";
	const double share = top && c->ns ? (double)top->ns / (double)c->ns : 0;
	const char *most = share >= ALL_SHARE || share < MOST_SHARE ? "" : "mostly ";

	if (!*name)
		return "";
	return report_format(r, "%s%s%s%s%s", cause == CAUSE_CPU_WAIT ? ", held " : ", ", most,
			     cause == CAUSE_CPU_WAIT ? "by " : "because of ", name,
			     share < MOST_SHARE ? " and others" : "");
}

/* Returns to whom it happened: the cause's phrase is about one. */
static const char *headline_subject(const struct population *p, const struct main_cause *c)
{
	if (!p->requests)
		return "a message";
	return c->cause == CAUSE_NETWORK ? "a request" : c->client ? "the client" : "the server";
}

int diagnosis_headline_cause(const struct diagnosis *d, struct report *r, const char **out)
{
	const struct population p = headline_population(d);
	const char *in = d->requests && !p.requests ? "in the server alone, " : "";
	struct cause_culprits culprits;
	struct main_cause top;
	char share[HUMAN_MAX];
	int err;

	*out = *in ? "the extra time is not explained" : NULL;
	if (!diagnosis_main_cause(d, &top))
		return 0;
	human_fraction(share, top.share);
	if (top.cause == CAUSE_UNEXPLAINED || top.cause == CAUSE_NOT_RECORDED) {
		*out = report_format(r, "%s%s of the extra time %s", in, share,
				     cause_phrase(top.cause));
		return 0;
	}
	culprits_init(&culprits, p.rec, top.cause);
	err = headline_add_culprits(&p, &top, &culprits);
	if (!err)
		*out = report_format(r, "%sfor %s of the extra time %s %s%s", in, share,
				     headline_subject(&p, &top), cause_phrase(top.cause),
				     headline_culprit(r, &culprits, top.cause));
	culprits_release(&culprits);
	return err;
}

/* Returns ", the median 24 µs"; "" if that is not known. */
static const char *headline_usual(const struct diagnosis *d, struct report *r)
{
	const struct hist *of = d->against_other ? &d->reference_latency : &d->latency;
	struct hist_quantile usual;
	char buf[HUMAN_MAX];

	if (of->count < 2 || hist_quantile(of, 0.5, &usual))
		return "";
	return report_format(r, ", %s %s",
			     d->against_other ? "in the other recording" : "the median",
			     human_ns(buf, usual.value));
}

static const char *headline_why(const struct diagnosis *d, const char *cause)
{
	return cause ? cause : d->excesses.len ? "no cause stands out" :
						 "too few messages to compare with";
}

int report_headline_of_messages(const struct diagnosis *d, struct report *r)
{
	const struct message_selection *s = &d->options.selection;
	const uint64_t n = d->target_latency.count;
	const char *cause;
	char count[HUMAN_MAX], least[HUMAN_MAX];
	int err = diagnosis_headline_cause(d, r, &cause);

	if (err)
		return err;
	if (!n) {
		report_headline(r, "There is no message to explain.");
		return 0;
	}
	human_ns(least, d->target_latency.min);
	if (n == 1)
		report_headline(r, "The %s message took %s%s: %s.",
				s->slowest || s->to == 1 ? "slowest" : "chosen", least,
				headline_usual(d, r), headline_why(d, cause));
	else
		report_headline(r, "The %s %s messages took %s or longer%s: %s.",
				human_count(count, n),
				s->slowest || s->to == 1 ? "slowest" : "chosen", least,
				headline_usual(d, r), headline_why(d, cause));
	return 0;
}
