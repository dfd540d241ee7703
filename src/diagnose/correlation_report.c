/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/bug.h"
#include "diagnose/correlation.h"

static const struct column columns[] = {
	{ "name", NULL, 0, 0 }, { "unit", NULL, 0, 0 }, { "rho", NULL, 0, 0 },
	{ "p_value", NULL, 0, 0 }, { "significant", NULL, 0, 0 }, { "why", NULL, 0, 0 },
};

/* Returns the next significant series after `last` by |rho|; NULL: none. */
static const struct correlate *correlation_next(const struct correlation *c,
						const struct correlate *last)
{
	const struct correlate *best = NULL;

	vec_for_each(&c->series, s) {
		if (!s->known || !s->significant || s == last)
			continue;
		if (last && (fabs(s->rho) > fabs(last->rho) ||
			     (fabs(s->rho) == fabs(last->rho) && s < last)))
			continue;
		if (!best || fabs(s->rho) > fabs(best->rho))
			best = s;
	}
	return best;
}

static void correlation_add_finding(const struct correlation *c, size_t lines, struct report *r)
{
	const char *q = correlation_quantile_name(c->quantile);
	const struct correlate *s = NULL;

	while (lines-- && (s = correlation_next(c, s)))
		report_finding(r, "The requests' %s %s with %s: rho %.2f, p %.2g, %u intervals.", q,
			       s->rho > 0 ? "rises" : "falls",
			       s->stage ? report_format(r, "%s of %s", q, s->name) : s->name,
			       s->rho, s->p, c->intervals);
}

void correlation_report(const struct correlation *c, size_t lines, struct report *r)
{
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct object *o = object_new(r);

	vec_for_each(&c->series, s) {
		const bool known = c->known && s->known;

		TABLE_ADD(t, value_string(s->name), value_string(s->unit),
			  known ? value_number(s->rho) : value_null(),
			  known ? value_number(s->p) : value_null(),
			  known ? value_bool(s->significant) : value_null(), value_string(s->why));
	}
	object_add(o, "quantile", c->known ? value_string(correlation_quantile_name(c->quantile)) :
					     value_null());
	object_add(o, "intervals", value_u64(c->intervals));
	object_add(o, "why", value_string(c->why));
	object_add(o, "series", value_table(t));
	object_add(&r->body, "correlation", value_object(o));
	if (c->known)
		correlation_add_finding(c, lines < CORRELATION_LINES ? lines : CORRELATION_LINES,
					r);
}
