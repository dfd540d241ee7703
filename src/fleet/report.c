/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "fleet/coverage.h"
#include "fleet/doubt.h"
#include "fleet/finding.h"
#include "fleet/over_time.h"
#include "fleet/pipelines_report.h"
#include "fleet/sentence.h"
#include "fleet/state.h"
#include "fleet/tally.h"
#include "report/human.h"

/* With fewer intervals, hardly anything can stand out. */
#define INTERVALS_MIN 10u
#define HOSTS_MIN 4u             /* fewer leave unclear which resource it is */
#define MEMBERS_ALL 1000u        /* the same with `all`; JSON has the others */
#define MEMBERS_SHOWN 5u         /* members of a finding in text */

/* ---- scope ---- */

static uint32_t fleet_report_count(const struct fleet *f, enum fleet_kind kind)
{
	uint32_t n = 0;

	vec_for_each(&f->resources, resource)
		n += resource->kind == kind;
	return n;
}

static void fleet_report_scope(const struct fleet *f, const struct fleet_result *result,
			       struct report *r)
{
	const struct fleet_grid *g = &f->grid;
	const uint64_t length = g->step_ns * g->intervals;
	struct object *o = object_new(r);
	char a[HUMAN_MAX], b[HUMAN_MAX];

	object_add(o, "from_ns", value_ns(g->start_ns));
	object_add(o, "to_ns", value_ns(g->start_ns + length));
	object_add(o, "step_ns", value_ns(g->step_ns));
	object_add(o, "hosts", value_u64(fleet_report_count(f, FLEET_HOST)));
	object_add(o, "connections", value_u64(f->all.len));
	object_add(o, "resources", value_u64(f->resources.len));
	object_add(o, "tested", value_u64(result->tested));
	object_add(o, "too_few", value_u64(result->too_few));
	object_add(o, "pipelines_tested", value_u64(result->pipelines_tested));
	object_add(o, "pipelines_too_few", value_u64(result->pipelines_too_few));
	object_add(&r->body, "fleet", value_object(o));
	report_title(r, "%s   %s, each end counted",
		     human_counted(a, fleet_report_count(f, FLEET_HOST), "host"),
		     human_counted(b, f->all.len, "connection"));
	report_summary(r, "%s from %s in intervals of %s", human_ns(a, length),
		       report_format(r, "%s", human_utc(b, g->start_ns, 0, true)),
		       report_format(r, "%s", human_ns(b, g->step_ns)));
}

/* ---- findings ---- */

/* Returns whether the finding is about the application or has a connection of it. */
static bool fleet_report_touches(const struct fleet *f, const struct fleet_result *result,
				 const struct fleet_finding *finding, uint32_t application)
{
	bool touches = finding->resource == application;

	for (uint32_t i = 0; !touches && i < finding->n; i++)
		touches = fleet_series_shares(
			f, &f->all.items[result->members.items[finding->first + i].conn],
			application);
	return touches;
}

static bool fleet_report_is_shown(const struct fleet *f, const struct fleet_result *result,
				  const struct fleet_view *view,
				  const struct fleet_finding *finding)
{
	const enum fleet_kind kind = f->resources.items[finding->resource].kind;

	/* the network may be behind it, and its operator can write the table that tells */
	if (view->reader == FLEET_FOR_NETWORK && doubt_is_path(f, result, finding))
		return true;
	return (fleet_finding_is_everywhere(finding) ||
		fleet_advice_is_for(view->reader, finding->class, kind)) &&
	       (view->reader != FLEET_FOR_APPLICATION ||
		fleet_report_touches(f, result, finding, view->application));
}

static struct value fleet_report_members(const struct fleet *f, const struct fleet_result *result,
					 const struct fleet_finding *finding, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "host" }, { .name = "connection" }, { .name = "cookie" },
		{ .name = "share" }, { .name = "score" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (uint32_t i = 0; i < finding->n; i++) {
		const struct fleet_member *m = &result->members.items[finding->first + i];
		const struct fleet_series *s = &f->all.items[m->conn];
		const double known = (double)s->known_ns[finding->class];

		TABLE_ADD(t, value_string(f->resources.items[s->host].name), value_string(s->name),
			  value_string(report_format(r, "%" PRIu64, s->cookie)),
			  known > 0 ? value_fraction((double)s->limited_ns[finding->class] / known)
				    : value_null(),
			  value_number(m->score));
	}
	return value_table(t);
}

static struct value fleet_report_share(double share)
{
	return isfinite(share) ? value_fraction(share) : value_null();
}

static struct value fleet_report_within(const struct fleet *f, const struct fleet_result *result,
					const struct fleet_finding *finding)
{
	return value_string(finding->within == FLEET_NONE ? NULL :
			    fleet_finding_name(f, &result->findings.items[finding->within]));
}

/* Returns the resources that have the same connections, as far as the evidence tells. */
static struct value fleet_report_same(const struct fleet *f, const struct fleet_result *result,
				      const struct fleet_finding *finding, struct report *r)
{
	static const struct column columns[] = { { .name = "kind" }, { .name = "name" } };
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	const struct fleet_resource *own = &f->resources.items[finding->resource];

	if (fleet_finding_is_everywhere(finding))
		TABLE_ADD(t, value_string(fleet_kind_name(own->kind)), value_string(own->name));
	for (uint32_t k = 0; k < finding->n_same; k++) {
		own = &f->resources.items[result->same.items[finding->first_same + k]];
		TABLE_ADD(t, value_string(fleet_kind_name(own->kind)), value_string(own->name));
	}
	return value_table(t);
}

static void fleet_report_add(const struct fleet *f, const struct fleet_result *result,
			     const struct fleet_finding *i, struct table *t, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];

	TABLE_ADD(t, value_string(fleet_finding_kind(f, i)), value_string(fleet_finding_name(f, i)),
		  value_string(fleet_sentence_resource(f, i, r)),
		  value_string(fleet_class_name(i->class)),
		  value_string(fleet_evidence_name(i->evidence)),
		  value_string(report_format(r, "%s of %s", human_count(a, i->evidence ==
					     FLEET_MORE ? i->affected : i->n),
					     human_count(b, i->connections))),
		  value_u64(i->hosts), value_u64(i->connections), value_u64(i->affected),
		  value_u64(i->n), value_u64(i->defined), fleet_report_share(i->share),
		  fleet_report_share(i->share_others), value_number(i->rho), value_number(i->z),
		  value_number(i->p < FLEET_P_LEAST ? FLEET_P_LEAST : i->p),
		  value_ns(i->lost_ns), value_ns(i->excess_ns),
		  value_ns(i->from_ns), value_ns(i->to_ns), fleet_report_within(f, result, i),
		  fleet_report_same(f, result, i, r), value_string(fleet_sentence_advice(f, i)),
		  fleet_over_time(f, i, r), fleet_report_members(f, result, i, r));
}

/* Adds the findings that are shown, and returns their number. */
static uint32_t fleet_report_findings(const struct fleet *f, const struct fleet_result *result,
				      const struct fleet_view *view, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "kind" }, { .name = "name" },
		{ .head = "resource", .flags = COLUMN_FLEX },
		{ .name = "problem", .head = "problem" }, { .name = "evidence", .head = "how" },
		{ .head = "connections" }, { .name = "hosts", .head = "hosts",
					     .flags = COLUMN_SPARE },
		{ .name = "connections" }, { .name = "affected" }, { .name = "members" },
		{ .name = "members_defined" }, { .name = "share", .head = "share" },
		{ .name = "share_others", .head = "others" },
		{ .name = "acc", .head = "together", .flags = COLUMN_SPARE }, { .name = "z" },
		{ .name = "p_value", .head = "p", .flags = COLUMN_SPARE },
		{ .name = "lost_ns", .head = "lost" },
		{ .name = "excess_ns", .head = "excess", .flags = COLUMN_SPARE },
		{ .name = "from_ns" }, { .name = "to_ns" }, { .name = "within" },
		{ .name = "same" }, { .name = "advice" }, { .name = "over_time" },
		{ .name = "culprits" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	uint32_t n = 0;

	vec_for_each(&result->findings, i) {
		if (!fleet_report_is_shown(f, result, view, i))
			continue;
		fleet_report_add(f, result, i, t, r);
		if (view->all || n < FLEET_ROWS)
			fleet_sentence(f, result, i, view->all ? MEMBERS_ALL : MEMBERS_SHOWN, r);
		n++;
	}
	object_add(&r->body, "groups", value_table(t));
	return n;
}

/* Returns whether a finding that is shown tells one resource from others by common times. */
static bool fleet_report_has_together(const struct fleet *f, const struct fleet_result *result,
				      const struct fleet_view *view)
{
	vec_for_each(&result->findings, i)
		if (i->evidence == FLEET_TOGETHER && !fleet_finding_is_everywhere(i) &&
		    i->hosts > 1 && fleet_report_is_shown(f, result, view, i))
			return true;
	return false;
}

/* ---- headline ---- */

static const struct fleet_finding *fleet_report_worst(const struct fleet *f,
						      const struct fleet_result *result,
						      const struct fleet_view *view)
{
	vec_for_each(&result->findings, i)
		if (fleet_report_is_shown(f, result, view, i))
			return i;
	return NULL;
}

static void fleet_report_headline(const struct fleet *f, const struct fleet_result *result,
				  const struct fleet_view *view, struct report *r)
{
	const struct fleet_finding *worst = fleet_report_worst(f, result, view);
	const bool none = !result->findings.len;
	char buf[HUMAN_MAX];

	if (worst)
		report_headline(r, "%s", fleet_sentence_headline(f, result, worst, r));
	else if (none && pipelines_report_first(f, result, view))
		report_headline(r, "%s", pipelines_report_verdict(
			f, pipelines_report_first(f, result, view), r));
	else if (!result->tested && !result->too_few && f->all.len)
		report_headline(r, "No connection has a problem while that could be seen.");
	else if (!result->tested)
		report_headline(r, "n/a: no resource has enough connections for a test. Give more "
				"hosts' recordings, or longer ones.");
	else if (f->grid.intervals < INTERVALS_MIN)
		report_headline(r, "n/a: %u intervals are too few for a comparison. Give longer "
				"recordings, or a shorter --step.", f->grid.intervals);
	else if (!none)
		report_headline(r, "Nothing that this reader can change stands out. Without "
				"--reader, the report has %s.",
				human_counted(buf, result->findings.len, "finding"));
	else
		report_headline(r, "No resource stands out: none has connections with a problem "
				"for longer than others, or at the same times.");
}

/* ---- resources and applications ---- */

static bool fleet_report_has_class(const struct fleet_tally *t, unsigned int class)
{
	return class != FLEET_SENDER_APP && t->connections && t->affected;
}

/* Adds the problems of every resource, as a table for programs and the page. */
static void fleet_report_resources(const struct fleet *f, const struct fleet_tally *all,
				   struct report *r)
{
	static const struct column columns[] = {
		{ .name = "kind" }, { .name = "name" }, { .name = "problem" },
		{ .name = "connections" }, { .name = "affected" }, { .name = "share" },
		{ .name = "lost_ns" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (size_t i = 0; i < f->resources.len; i++)
		for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
			const struct fleet_tally *s = &all[i * FLEET_CLASSES + class];

			if (fleet_report_has_class(s, class))
				TABLE_ADD(t, value_string(fleet_kind_name(
						 f->resources.items[i].kind)),
					  value_string(f->resources.items[i].name),
					  value_string(fleet_class_name(class)),
					  value_u64(s->connections), value_u64(s->affected),
					  value_fraction((double)s->limited_ns /
							 (double)s->known_ns),
					  value_ns(s->lost_ns));
		}
	object_add(&r->body, "resources", value_table(t));
}

struct application_row {
	uint32_t resource;
	enum fleet_class class;
	const struct fleet_tally *tally;
};

static int fleet_report_compare(const void *x, const void *y)
{
	const struct application_row *a = x, *b = y;

	if (a->tally->lost_ns != b->tally->lost_ns)
		return a->tally->lost_ns > b->tally->lost_ns ? -1 : 1;
	if (a->tally->affected != b->tally->affected)
		return a->tally->affected > b->tally->affected ? -1 : 1;
	return a->resource < b->resource ? -1 :
	       a->resource > b->resource ? 1 :
					   (int)a->class - (int)b->class;
}

static struct value fleet_report_over(const struct fleet_tally *t, unsigned int i)
{
	return value_fraction((double)t->over[i] / t->connections);
}

/* Adds the shares of each application's connections that a problem limits for so much of the time:
 * Table 4 of the SNAP paper, by application. */
static void fleet_report_application_rows(const struct fleet *f, const struct application_row *apps,
					  size_t n, struct table *t)
{
	for (size_t i = 0; i < n; i++) {
		const struct fleet_tally *s = apps[i].tally;

		TABLE_ADD(t, value_string(f->resources.items[apps[i].resource].name),
			  value_string(fleet_class_name(apps[i].class)),
			  value_u64(s->connections), fleet_report_over(s, 0),
			  fleet_report_over(s, 1), fleet_report_over(s, 2),
			  fleet_report_over(s, 3), value_ns(s->lost_ns));
	}
}

static size_t fleet_report_gather(const struct fleet *f, const struct fleet_tally *all,
				  struct application_row *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < f->resources.len; i++)
		for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
			const struct fleet_tally *t = &all[(size_t)i * FLEET_CLASSES + class];

			if (f->resources.items[i].kind == FLEET_APP &&
			    fleet_report_has_class(t, class))
				out[n++] = (struct application_row){ i, class, t };
		}
	qsort(out, n, sizeof(*out), fleet_report_compare);
	return n;
}

static int fleet_report_applications(const struct fleet *f, const struct fleet_tally *all,
				     const struct fleet_view *view, struct report *r)
{
	static const struct column json[] = {
		{ .name = "application" }, { .name = "problem" }, { .name = "connections" },
		{ .name = "over_0" }, { .name = "over_25" }, { .name = "over_50" },
		{ .name = "over_75" }, { .name = "lost_ns" },
	};
	static const struct column text[] = {
		{ .head = "application", .flags = COLUMN_FLEX }, { .head = "problem" },
		{ .head = "connections" }, { .head = "at all" },
		{ .head = "over 25 %", .flags = COLUMN_SPARE }, { .head = "over 50 %" },
		{ .head = "over 75 %", .flags = COLUMN_SPARE }, { .head = "lost" },
	};
	struct table *t = table_new(r, json, ARRAY_LEN(json));
	struct application_row *apps = calloc(f->resources.len + 1, FLEET_CLASSES * sizeof(*apps));
	size_t n;

	if (!apps)
		return -ENOMEM;
	n = fleet_report_gather(f, all, apps);
	fleet_report_application_rows(f, apps, n, t);
	object_add(&r->body, "applications", value_table(t));
	t = table_new(r, text, ARRAY_LEN(text));
	if (t)
		t->head = "Connections of each application that have a problem for so much of "
			  "their time (retransmissions: of their intervals):";
	fleet_report_application_rows(f, apps, view->all || n < FLEET_ROWS ? n : FLEET_ROWS, t);
	if (n)
		object_add(&r->body, NULL, value_table(t));
	free(apps);
	return 0;
}

int fleet_report(const struct fleet *f, const struct fleet_result *result,
		 const struct fleet_view *view, struct report *r)
{
	struct fleet_tally *all = fleet_tally_all(f);
	char buf[HUMAN_MAX];
	uint32_t n;
	int err;

	if (!all)
		return -ENOMEM;
	fleet_report_headline(f, result, view, r);
	fleet_report_scope(f, result, r);
	report_place_verdict(r);
	n = fleet_report_findings(f, result, view, r);
	pipelines_report(f, result, view, r);
	report_place_findings(r);
	if (n < result->findings.len)
		report_finding(r, "%s left out: without --reader, the report has all.",
			       human_counted(buf, result->findings.len - n, "finding"));
	if (fleet_report_count(f, FLEET_HOST) < HOSTS_MIN &&
	    fleet_report_has_together(f, result, view))
		report_finding(r, "Fewer than %u hosts have most connections in common: problems "
			       "at the same times may be those of another resource than the one "
			       "that is named. To do: give recordings of more hosts.", HOSTS_MIN);
	fleet_sentence_paths(f, r);
	fleet_coverage_report(f, r);
	fleet_report_resources(f, all, r);
	err = fleet_report_applications(f, all, view, r);
	free(all);
	return err ? err : report_error(r);
}
