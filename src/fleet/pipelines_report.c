/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/pipelines_report.h"

#include "base/bug.h"
#include "fleet/sentence.h"
#include "fleet/state.h"
#include "report/human.h"

static bool pipelines_report_is_shown(const struct fleet *f, const struct fleet_pipeline *i,
				      const struct fleet_view *view)
{
	if (view->reader == FLEET_FOR_APPLICATION)
		return i->application == view->application || i->resource == view->application;
	return fleet_advice_is_for(view->reader, i->class,
				   f->resources.items[i->resource].kind);
}

const struct fleet_pipeline *pipelines_report_first(const struct fleet *f,
						    const struct fleet_result *result,
						    const struct fleet_view *view)
{
	vec_for_each(&result->pipelines, i)
		if (pipelines_report_is_shown(f, i, view))
			return i;
	return NULL;
}

/* Returns "service 10.0.0.1:80", or "the same application". */
static const char *pipelines_report_resource(const struct fleet *f, const struct fleet_pipeline *i,
					     struct report *r)
{
	const struct fleet_resource *resource = &f->resources.items[i->resource];

	return i->resource == i->application ? "the same application" :
		report_format(r, "%s %s", fleet_kind_name(resource->kind), resource->name);
}

const char *pipelines_report_verdict(const struct fleet *f, const struct fleet_pipeline *i,
				     struct report *r)
{
	char share[HUMAN_MAX], otherwise[HUMAN_MAX], lag[HUMAN_MAX], waiting[HUMAN_MAX];
	char hosts[HUMAN_MAX];

	return report_format(
		r, "Application %s: its connections have nothing to send %s of the time when "
		   "%sconnections of %s have %s on the same host, else %s; %s more waiting on "
		   "%s%s.",
		f->resources.items[i->application].name, human_fraction(share, i->share),
		i->resource == i->application ? "other " : "",
		pipelines_report_resource(f, i, r), fleet_class_label(i->class),
		human_fraction(otherwise, i->share_otherwise), human_ns(waiting, i->waiting_ns),
		human_counted(hosts, i->hosts, "host"),
		i->later ? report_format(r, ", which begins %s later",
					 human_ns(lag, i->lag * f->grid.step_ns)) : "");
}

static void pipelines_report_sentence(const struct fleet *f, const struct fleet_pipeline *i,
				      struct report *r)
{
	const struct fleet_resource *resource = &f->resources.items[i->resource];
	const char *verdict = pipelines_report_verdict(f, i, r);
	const char *name = f->resources.items[i->application].name;

	report_finding(r, "%s What to do about the %s: %s. If one thread of %s serves both sides, "
		       "give each side a thread of its own.",
		       report_headline_has(r, verdict) ?
			       report_format(r, "Application %s.", name) : verdict,
		       fleet_class_label(i->class), fleet_advice(i->class, resource->kind), name);
}

static void pipelines_report_row(const struct fleet *f, const struct fleet_pipeline *i,
				 struct table *t, struct report *r)
{
	const struct fleet_resource *resource = &f->resources.items[i->resource];
	char a[HUMAN_MAX], b[HUMAN_MAX];

	TABLE_ADD(t, value_string(f->resources.items[i->application].name),
		  value_string(fleet_kind_name(resource->kind)), value_string(resource->name),
		  value_string(report_format(r, "%s %s", fleet_kind_name(resource->kind),
					     resource->name)),
		  value_string(fleet_class_name(i->class)),
		  value_string(report_format(r, "%s of %s", human_count(a, i->hosts_with),
					     human_count(b, i->hosts))),
		  value_u64(i->hosts), value_u64(i->hosts_with), value_u64(i->connections),
		  value_u64(i->waiting),
		  i->later ? value_ns(i->lag * f->grid.step_ns) : value_null(),
		  value_fraction(i->share), value_fraction(i->share_otherwise),
		  value_number(i->rho), value_number(i->z),
		  value_number(i->p < FLEET_P_LEAST ? FLEET_P_LEAST : i->p),
		  value_ns(i->waiting_ns),
		  value_string(fleet_advice(i->class, resource->kind)));
}

void pipelines_report(const struct fleet *f, const struct fleet_result *result,
		      const struct fleet_view *view, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "application", .head = "waiting", .flags = COLUMN_FLEX },
		{ .name = "kind" }, { .name = "name" },
		{ .head = "behind it", .flags = COLUMN_FLEX },
		{ .name = "problem", .head = "problem" }, { .head = "hosts" },
		{ .name = "hosts" }, { .name = "hosts_with" }, { .name = "connections" },
		{ .name = "waiting_connections" },
		{ .name = "lag_ns", .head = "later", .flags = COLUMN_SPARE },
		{ .name = "share", .head = "share" },
		{ .name = "share_otherwise", .head = "otherwise" },
		{ .name = "acc", .head = "together", .flags = COLUMN_SPARE }, { .name = "z" },
		{ .name = "p_value", .head = "p", .flags = COLUMN_SPARE },
		{ .name = "waiting_ns", .head = "more waiting" }, { .name = "advice" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	uint32_t n = 0;

	vec_for_each(&result->pipelines, i) {
		if (!pipelines_report_is_shown(f, i, view))
			continue;
		pipelines_report_row(f, i, t, r);
		if (view->all || n++ < FLEET_ROWS)
			pipelines_report_sentence(f, i, r);
	}
	if (t && t->nrows)
		t->head = "Applications that wait when others have a problem on the same hosts:";
	object_add(&r->body, "pipelines", value_table(t));
}
