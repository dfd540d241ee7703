/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sentence.h"

#include <ctype.h>
#include <math.h>

#include "base/bug.h"
#include "fleet/advice.h"
#include "fleet/state.h"
#include "report/human.h"

const char *fleet_evidence_name(enum fleet_evidence evidence)
{
	static const char *const names[] = {
		[FLEET_MORE] = "more-often", [FLEET_TOGETHER] = "together",
		[FLEET_AT_ONCE] = "at-once",
	};

	BUG_ON(evidence >= ARRAY_LEN(names));
	return names[evidence];
}

/* Returns "Link uplink3", as a sentence begins. */
static const char *fleet_sentence_resource(const struct fleet_resource *resource, struct report *r)
{
	const char *kind = fleet_kind_name(resource->kind);

	return report_format(r, "%c%s %s", toupper((unsigned char)*kind), kind + 1, resource->name);
}

/* Returns "in 3.1 % of the time, others in 0.1 %". */
static const char *fleet_sentence_shares(const struct fleet_finding *i, struct report *r)
{
	const bool events = i->class == FLEET_FAST_RETRANSMIT || i->class == FLEET_TIMEOUT;
	char a[HUMAN_MAX], b[HUMAN_MAX];
	const char *text = report_format(r, "in %s of the %s", human_fraction(a, i->share),
					 events ? "intervals" : "time");

	return isfinite(i->share_others) ?
	       report_format(r, "%s, others in %s", text, human_fraction(b, i->share_others)) :
	       text;
}

static const char *fleet_sentence_when(const struct fleet_finding *i, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];

	switch (i->evidence) {
	case FLEET_AT_ONCE:
		return report_format(r, "at once, within %s from %s",
				     human_ns(a, i->to_ns - i->from_ns),
				     human_utc(b, i->from_ns, 0, true));
	case FLEET_TOGETHER:
		return report_format(r, "at the same times (mean correlation %.2f)", i->rho);
	default:
		return fleet_sentence_shares(i, r);
	}
}

const char *fleet_sentence_verdict(const struct fleet *f, const struct fleet_finding *i,
				   struct report *r)
{
	const struct fleet_resource *resource = &f->resources.items[i->resource];
	const uint32_t n = i->evidence == FLEET_MORE ? i->affected : i->n;
	char a[HUMAN_MAX], b[HUMAN_MAX], lost[HUMAN_MAX];

	return report_format(r, "%s: %s of %s have %s %s, %s lost.",
			     fleet_sentence_resource(resource, r), human_count(a, n),
			     human_counted(b, i->connections, "connection"),
			     fleet_class_label(i->class), fleet_sentence_when(i, r),
			     human_ns(lost, i->lost_ns));
}

/* Returns " Strongest: 10.0.0.1:80 > 10.0.0.2:4000 on web1, ..."; "" without members. */
static const char *fleet_sentence_members(const struct fleet *f, const struct fleet_result *result,
					  const struct fleet_finding *i, uint32_t shown,
					  struct report *r)
{
	const uint32_t n = i->n < shown ? i->n : shown;
	const char *text = n ? " Strongest: " : "";
	char buf[HUMAN_MAX];

	for (uint32_t k = 0; k < n; k++) {
		const struct fleet_series *s =
			&f->all.items[result->members.items[i->first + k].conn];

		text = report_format(r, "%s%s%s on %s", text, k ? ", " : "", s->name,
				     f->resources.items[s->host].name);
	}
	if (n < i->n)
		text = report_format(r, "%s and %s more", text, human_count(buf, i->n - n));
	return n ? report_format(r, "%s.", text) : text;
}

void fleet_sentence(const struct fleet *f, const struct fleet_result *result,
		    const struct fleet_finding *i, uint32_t members, struct report *r)
{
	const struct fleet_resource *resource = &f->resources.items[i->resource];

	const char *verdict = fleet_sentence_verdict(f, i, r);
	const bool said = report_headline_has(r, verdict);

	report_finding(r, "%s%s What to do: %s.", said ?
		       report_format(r, "%s.", fleet_sentence_resource(resource, r)) : verdict,
		       fleet_sentence_members(f, result, i, members, r),
		       fleet_advice(i->class, resource->kind));
}
