/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/app_metrics.h"

#include "base/bug.h"
#include "conns/rules.h"
#include "conns/state.h"

enum app_metric {
	APP_METRIC_MEASURED,
	APP_METRIC_UNSAMPLED,
	APP_METRIC_CPU,
	APP_METRIC_LOSSES,
	APP_METRIC_OTHERS,
	APP_METRIC_INFO,
	APP_METRIC_CONNECTIONS,
	APP_METRIC_LIMIT,
	APP_METRIC_UNKNOWN,
	APP_METRIC_LOST,
	APP_METRIC_EVENTS,
	APP_METRIC_UNCOUNTED,
	APP_METRICS,
};

#define SECONDS(metric, what, text, ...)                                                           \
	[APP_METRIC_##metric] = { .name = "hostlat_" what "_seconds", .unit = METRIC_IN_SECONDS,   \
				  .help = (text), .labels = { __VA_ARGS__ } }
#define COUNT(metric, what, text, ...)                                                             \
	[APP_METRIC_##metric] = { .name = "hostlat_" what, .help = (text),                         \
				  .labels = { __VA_ARGS__ } }

/* Every metric; the rules of share/prometheus use these names, too. */
static const struct metric_family families[APP_METRICS] = {
	SECONDS(MEASURED, "measured", "Time that was measured"),
	SECONDS(UNSAMPLED, "unsampled",
		"Part of the measured time in which no connection was read, to keep the CPU "
		"budget"),
	SECONDS(CPU, "own_cpu",
		"CPU time that hostlat took, in its process (user) and in the kernel's BPF "
		"programs (bpf, if known)", "where"),
	COUNT(LOSSES, "losses",
	      "Events, connections or calls that should have been measured and were not", "reason"),
	[APP_METRIC_OTHERS] = { .name = "hostlat_apps_in_other", .type = METRIC_GAUGE,
				.help = "Applications of the last 15 minutes that are counted as "
					"app=\"other\"" },
	[APP_METRIC_INFO] = { .name = "hostlat_app", .type = METRIC_INFO,
			      .help = "Systemd unit or container of an application",
			      .labels = { "app", "unit", "container" } },
	COUNT(CONNECTIONS, "connections_seen", "Connections seen", "app"),
	SECONDS(LIMIT, "connection_limit",
		"Time of connections by what limited them; with the unknown time, all time", "app",
		"limit"),
	SECONDS(UNKNOWN, "connection_unknown",
		"Time of connections of which it is unknown what limited them", "app"),
	SECONDS(LOST, "connection_lost",
		"Time for which data waited because of a problem; the classes add up", "app",
		"class"),
	COUNT(EVENTS, "connection_events", "Events of connections, where they are counted", "app",
	      "event"),
	SECONDS(UNCOUNTED, "connection_events_unknown",
		"Time of connections of which the number of these events is unknown", "app",
		"event"),
};


static void app_metrics_put(struct metrics *m, enum app_metric metric, const char *first,
			    const char *second, uint64_t value)
{
	metrics_add(m, &(struct metric_sample){ .family = &families[metric],
						.labels = { first, second }, .value = value });
}

/* ---- the host ---- */

static void app_metrics_losses(const struct conns *c, struct metrics *m)
{
	const struct conns_period *p = &c->periods[CONNS_TOTAL];

	app_metrics_put(m, APP_METRIC_LOSSES, "events-lost", NULL, p->lost_records);
	app_metrics_put(m, APP_METRIC_LOSSES, "names-not-kept", NULL, p->names_lost);
	app_metrics_put(m, APP_METRIC_LOSSES, "limit", NULL, p->beyond);
	app_metrics_put(m, APP_METRIC_LOSSES, CONNS_LOSS_CONNECTIONS, NULL, 0);
	vec_for_each(&c->counts, count)
		if (count->what == COUNT_LOSS)
			app_metrics_put(m, APP_METRIC_LOSSES,
					conns_name(c, DICT_STRING, count->reason) ?: "unknown",
					NULL, count->count[CONNS_TOTAL]);
}

static void app_metrics_host(const struct app_counters *a, const struct conns *c,
			     struct metrics *m)
{
	const struct conns_period *p = &c->periods[CONNS_TOTAL];

	app_metrics_put(m, APP_METRIC_MEASURED, NULL, NULL, a->measured_ns);
	app_metrics_put(m, APP_METRIC_UNSAMPLED, NULL, NULL, a->unsampled_ns);
	app_metrics_put(m, APP_METRIC_CPU, "user", NULL, p->own_user_ns);
	if (!p->bpf_cost_unknown)
		app_metrics_put(m, APP_METRIC_CPU, "bpf", NULL, p->own_bpf_ns);
	app_metrics_losses(c, m);
	app_metrics_put(m, APP_METRIC_OTHERS, NULL, NULL, app_counters_others(a));
}

/* ---- the applications ---- */

static void app_metrics_connections(struct metrics *m, const char *app,
				    const struct app_counts *counts)
{
	app_metrics_put(m, APP_METRIC_CONNECTIONS, app, NULL, counts->connections);
}

static void app_metrics_limits(struct metrics *m, const char *app, const struct app_counts *counts)
{
	for (unsigned int i = 0; i < WORDS_TIMES; i++)
		app_metrics_put(m, APP_METRIC_LIMIT, app, words_time_name(i), counts->limit_ns[i]);
}

static void app_metrics_unknown(struct metrics *m, const char *app, const struct app_counts *counts)
{
	app_metrics_put(m, APP_METRIC_UNKNOWN, app, NULL, counts->unknown_ns);
}

static void app_metrics_lost(struct metrics *m, const char *app, const struct app_counts *counts)
{
	for (unsigned int class = 0; class < CONN_CLASSES; class++)
		if (RULES_LOST_CLASSES >> class & 1)
			app_metrics_put(m, APP_METRIC_LOST, app, conn_class_name(class),
					counts->lost_ns[class]);
}

static void app_metrics_events(struct metrics *m, const char *app, const struct app_counts *counts)
{
	const struct counter *counter = NULL;

	for (size_t i = 0; (counter = counter_next(counter, COUNTER_OF_EVENTS)); i++)
		app_metrics_put(m, APP_METRIC_EVENTS, app, counter->name, counts->events[i]);
}

static void app_metrics_uncounted(struct metrics *m, const char *app,
				  const struct app_counts *counts)
{
	const struct counter *counter = NULL;

	for (size_t i = 0; (counter = counter_next(counter, COUNTER_OF_EVENTS)); i++)
		app_metrics_put(m, APP_METRIC_UNCOUNTED, app, counter->name,
				counts->uncounted_ns[i]);
}

static void app_metrics_infos(const struct app_counters *a, struct metrics *m)
{
	vec_for_each(&a->apps, app)
		if (app->named && (app->unit || app->container))
			metrics_add(m, &(struct metric_sample){
				.family = &families[APP_METRIC_INFO], .value = 1,
				.labels = { app->name, app->unit, app->container } });
}

void app_metrics_add(const struct app_counters *a, const struct conns *c, struct metrics *m)
{
	static void (*const put[])(struct metrics *m, const char *app,
				   const struct app_counts *counts) = {
		app_metrics_connections, app_metrics_limits, app_metrics_unknown,
		app_metrics_lost, app_metrics_events, app_metrics_uncounted,
	};

	app_metrics_host(a, c, m);
	app_metrics_infos(a, m);
	for (size_t i = 0; i < ARRAY_LEN(put); i++) {
		vec_for_each(&a->apps, app)
			if (app->named)
				put[i](m, app->name, &app->counts);
		put[i](m, APP_COUNTERS_OTHER, &a->other);
	}
}

/* ---- the manual ---- */

static void app_metrics_manual_labels(const struct metric_family *family, struct strbuf *out)
{
	for (int i = 0; i < METRIC_LABELS_MAX && family->labels[i]; i++)
		strbuf_printf(out, "%s%s", i ? ", " : " \\fR(", family->labels[i]);
	strbuf_puts(out, family->labels[0] ? ")\n" : "\n");
}

void app_metrics_manual(struct strbuf *out)
{
	for (size_t i = 0; i < APP_METRICS; i++) {
		strbuf_printf(out, ".TP\n.B %s%s", families[i].name, metric_suffix(&families[i]));
		app_metrics_manual_labels(&families[i], out);
		strbuf_printf(out, "%s.\n", families[i].help);
	}
}
