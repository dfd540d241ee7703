/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat fleet: finds the application, host, rack or link behind the problems of many hosts'
 * connections, in their recordings or in a store of these.
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cmd/fleet_config.h"
#include "cmd/fleet_look.h"
#include "cmd/fleet_result.h"
#include "cmd/result.h"
#include "fleet/fleet.h"
#include "fleet/paper_report.h"
#include "fleet/report.h"

enum fleet_action {
	FLEET_ACTION_REPORT,
	FLEET_ACTION_INIT,
	FLEET_ACTION_INGEST,
	FLEET_ACTION_EXPORT,
	FLEET_ACTION_WATCH,
};

static const struct opt_choice action_choices[] = {
	{ "report", FLEET_ACTION_REPORT, "what is behind the connections' problems" },
	{ "init", FLEET_ACTION_INIT, "make a store" },
	{ "ingest", FLEET_ACTION_INGEST, "put recordings into a store" },
	{ "export", FLEET_ACTION_EXPORT, "write a store's connections as CSV" },
	{ "watch", FLEET_ACTION_WATCH, "report again and again which findings begin and end" },
	{ NULL, 0, NULL },
};

/* The options that have an effect with each action, and no other. */
static const char *const action_takes[] = {
	[FLEET_ACTION_REPORT] = "FILE,store,since,until,except,topology,apps,step,reader,all,paper,"
				"output,json,json-lines,quiet,color",
	[FLEET_ACTION_INIT] = "store,otel-views,quiet",
	[FLEET_ACTION_INGEST] = "FILE,store,apps,step,window,keep,output,json,json-lines,quiet,"
				"color",
	[FLEET_ACTION_EXPORT] = "store,since,until,except,step,output,quiet",
	[FLEET_ACTION_WATCH] = "FILE,store,except,topology,apps,step,last,every,count,output,json,"
			       "json-lines,quiet,color",
};

static const struct opt fleet_options[] = {
	OPT_CHOICE(struct fleet_config, action, .name = "ACTION",
		   .group = OPT_TARGET, .positional = true, .required = true,
		   .choices = action_choices, .takes = action_takes,
		   .help = "Step to take"),
	OPT_FILES(struct fleet_config, files, .name = "FILE",
		  .group = OPT_TARGET,
		  .help = "Recordings of hostlat conns --record: of different hosts at the same "
			  "time; a host may have several, one after the other. ingest also takes "
			  "- for standard input"),
	OPT_STRING(struct fleet_config, store, .name = "store",
		   .group = OPT_TARGET, .metavar = "STORE",
		   .help = "Store of many recordings: a file (SQLite), or "
			   "clickhouse://HOST:PORT/DATABASE"),
	OPT_STRING(struct fleet_config, since, .name = "since",
		   .group = OPT_TARGET, .metavar = "TIME",
		   .help = "Report on a store's whole windows from this time on: 2026-11-28 03:00 "
			   "(local time; with Z: UTC; with +02:00: of that offset), today or "
			   "yesterday (from 00:00 UTC on), now, or a duration before --until "
			   "(default: 1h)"),
	OPT_STRING(struct fleet_config, until, .name = "until",
		   .group = OPT_TARGET, .metavar = "TIME",
		   .help = "End of that time; a duration counts back from the last window's end "
			   "(default: that end)"),
	OPT_LIST(struct fleet_config, topology, .name = "topology",
		 .group = OPT_TARGET, .file = true, .metavar = "FILE",
		 .help = "CSV table, or JSON, of hosts (host,rack,instance,addresses), of "
			 "switches (rack,switch) or of links (from,to,link)"),
	OPT_STRING(struct fleet_config, apps, .name = "apps",
		   .group = OPT_TARGET, .file = true, .metavar = "FILE",
		   .help = "CSV table, or JSON, of applications' names, of which the first row "
			   "that fits decides: application, and unit, cgroup, container, "
			   "command, port"),
	OPT_LIST(struct fleet_config, except, .name = "except",
		 .group = OPT_TARGET, .metavar = "HOST",
		 .help = "Leave a host of the store out, such as one whose clock is wrong"),
	OPT_DURATION(struct fleet_config, step_ns, .name = "step",
		     .group = OPT_MEASURE, .def = "2s", .min = 100 * NS_PER_MS,
		     .max = NS_PER_DAY,
		     .help = "Length of the intervals in which connections are compared; the "
			     "hosts' clocks must agree within a quarter of it"),
	OPT_DURATION(struct fleet_config, window_ns, .name = "window",
		     .group = OPT_MEASURE, .min = NS_PER_S, .max = NS_PER_DAY,
		     .help = "Time of a row of the store, a multiple of --step "
			     "(default: 1h); give it with each ingest"),
	OPT_DURATION(struct fleet_config, last_ns, .name = "last",
		     .group = OPT_MEASURE, .min = NS_PER_S, .max = NS_PER_DAY,
		     .help = "Length of the time that each look is about, up to the newest "
			     "data (default: 1h)"),
	OPT_DURATION(struct fleet_config, every_ns, .name = "every",
		     .group = OPT_MEASURE, .min = NS_PER_S, .max = NS_PER_DAY,
		     .help = "Time from look to look (default: 1m)"),
	OPT_U64(struct fleet_config, count, .name = "count",
		.group = OPT_STOP, .aliases = "c", .min = 1,
		.help = "Stop after N looks; without it, run until interrupted"),
	OPT_DURATION(struct fleet_config, keep_ns, .name = "keep",
		     .group = OPT_MEASURE, .min = NS_PER_S,
		     .help = "Once all recordings are stored, delete windows that began "
			     "longer ago than this"),
	OPT_STRING(struct fleet_config, reader, .name = "reader",
		   .group = OPT_OUTPUT, .metavar = "network|APPLICATION",
		   .help = "Show only what this reader can change: the network's operator, or the "
			   "developer of the application of that name"),
	OPT_FLAG(struct fleet_config, all, .name = "all",
		 .group = OPT_OUTPUT, .letter = 'a',
		 .help = "Show all findings, with all of their connections"),
	OPT_FLAG(struct fleet_config, otel_views, .name = "otel-views",
		 .group = OPT_TARGET, .rare = true,
		 .help = "Add a view in the form of OpenTelemetry's otel_metrics_sum to a "
			 "store in ClickHouse: hostlat_otel_metrics_sum"),
	OPT_FLAG(struct fleet_config, paper, .name = "paper",
		 .group = OPT_MEASURE,
		 .help = "Add what the method of the SNAP paper finds: resources whose "
			 "connections' average correlation is above 0.4"),
	OPTIONS_COMMON(struct fleet_config, common),
	OPT_END,
};

/* ---- the report ---- */

/* Sets who reads the report. Returns false, after a message, for an unknown application. */
static bool fleet_set_reader(const struct fleet_config *c, const struct fleet *f,
			     struct fleet_view *view)
{
	*view = (struct fleet_view){ .all = c->all, .application = FLEET_NONE };
	if (!c->reader)
		return true;
	if (!strcmp(c->reader, "network")) {
		view->reader = FLEET_FOR_NETWORK;
		return true;
	}
	view->reader = FLEET_FOR_APPLICATION;
	view->application = fleet_find(f, FLEET_APP, c->reader);
	if (view->application == FLEET_NONE)
		log_error("--reader takes \"network\" or the name of an application; no connection "
			  "is of an application '%s' (the report without --reader has a table of "
			  "them)",
			  c->reader);
	return view->application != FLEET_NONE;
}

static int fleet_print(const struct fleet_config *c, const struct fleet_inputs *in,
		       const struct fleet_look *look, const struct fleet_view *view)
{
	const struct fleet *f = look->windows.fleets[0];
	const struct provenance who = {
		.version = hostlat_version(), .command = "fleet", .schema = FLEET_SCHEMA,
		.started_ns = in->grid.start_ns,
	};
	struct report report;
	int err, code = EXIT_CANNOT;

	report_init(&report, &who);
	err = fleet_report(f, &look->result, view, &report);
	err = err || !c->paper ? err : fleet_paper_report(f, &report);
	if (err) {
		log_error("cannot make the result: %s", strerror(-err));
	} else {
		fleet_result_add(in, &report);
		if (c->store)
			fleet_stored_report(&look->stored, &report);
		code = result_print(&report, &c->common);
	}
	report_release(&report);
	return code;
}

static int fleet_run_report(const struct fleet_config *c, struct fleet_inputs *in)
{
	struct fleet_look look = { 0 };
	struct fleet_view view;
	int code = fleet_look_find(c, in, &look);

	if (code == EXIT_OK)
		code = fleet_look_read(c, in, &look);
	if (code == EXIT_OK && !fleet_set_reader(c, look.windows.fleets[0], &view))
		code = EXIT_USAGE;
	if (code == EXIT_OK)
		code = fleet_look_analyze(&look);
	if (code == EXIT_OK)
		code = fleet_print(c, in, &look, &view);
	fleet_look_release(&look);
	return code;
}

/* ---- the command ---- */

/* Returns false, after a message, unless --window and --step fit. */
static bool fleet_check_window(const struct fleet_config *c)
{
	struct strbuf step = STRBUF_INIT(64);
	const uint64_t window_ns = fleet_window_ns(c);
	const bool fits = window_ns % c->step_ns == 0 &&
			  window_ns / c->step_ns <= FLEET_INTERVALS_MAX;

	format_duration(&step, c->step_ns);
	if (!fits)
		log_error("--window must be a multiple of --step %s, of at most %u steps",
			  strbuf_str(&step), FLEET_INTERVALS_MAX);
	strbuf_release(&step);
	return fits;
}

/* Returns false, after a message, unless there is a source: recordings, or a store. */
static bool fleet_check_source(const struct fleet_config *c)
{
	const char *action = action_choices[c->action].name;
	const bool report = c->action == FLEET_ACTION_REPORT || c->action == FLEET_ACTION_WATCH;
	const bool files = c->files.len, ingest = c->action == FLEET_ACTION_INGEST;

	if (report && files && c->store)
		log_error("%s takes recordings or --store, not both; each table has its own "
			  "--topology", action);
	else if (report && !files && !c->store)
		log_error("%s needs recordings of hostlat conns --record, or --store", action);
	else if (!report && !c->store && files)
		log_error("--store is missing: did you mean --store %s?", c->files.items[0]);
	else if (!report && !c->store)
		log_error("--store is missing: a file, or clickhouse://HOST:PORT/DATABASE");
	else if (ingest && !files && !c->keep_ns)
		log_error("ingest needs recordings of hostlat conns --record, or - for standard "
			  "input");
	else if (files && !report && !ingest)
		log_error("init and export take no recordings: ingest puts them into the store");
	else
		return true;
	return false;
}

/* Returns false, after a message, for options that do not belong together. */
static bool fleet_check(const struct fleet_config *c)
{
	if (!fleet_check_source(c))
		return false;
	if ((c->since || c->until || c->except.len) && !c->store) {
		log_error("--since, --until and --except choose from --store, not from "
			  "recordings");
		return false;
	}
	return c->action != FLEET_ACTION_INGEST || fleet_check_window(c);
}

/*
 * Gives up root's privileges: all if only files are read; else the command writes as the user
 * behind sudo. Returns false after a message.
 */
static bool fleet_give_up(const struct fleet_config *c)
{
	char *copy;
	bool done;

	if (!c->store) {
		privilege_read_only();
		return true;
	}
	copy = strdup(c->store);
	done = copy && privilege_give_up(dirname(copy), 0);
	free(copy);
	if (!done)
		log_error("cannot give up privileges: start hostlat fleet as the user who owns the "
			  "store");
	return done;
}

static int fleet_act(const struct fleet_config *c, struct fleet_inputs *in)
{
	switch (c->action) {
	case FLEET_ACTION_INGEST:
		return fleet_run_ingest(c, in);
	case FLEET_ACTION_EXPORT:
		return fleet_run_export(c, in);
	case FLEET_ACTION_WATCH:
		return fleet_run_watch(c, in);
	default:
		return fleet_run_report(c, in);
	}
}

static int fleet_command_run(const void *config)
{
	const struct fleet_config *c = config;
	struct fleet_inputs in = { 0 };
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (!fleet_check(c))
		return EXIT_USAGE;
	if (!fleet_give_up(c))
		return EXIT_CANNOT;
	if (c->action == FLEET_ACTION_INIT)
		return fleet_run_init(c);
	in.topology = topology_new();
	in.apps = apps_new();
	if (in.topology && in.apps)
		code = fleet_tables_read(c, &in);
	else
		log_error("out of memory");
	if (code == EXIT_OK)
		code = fleet_act(c, &in);
	fleet_scan_release(&in.scan);
	topology_free(in.topology);
	apps_free(in.apps);
	return code;
}

const struct command cmd_fleet = {
	.name = "fleet",
	.summary = "find what is behind the problems of many hosts' connections",
	.task = "which rack or link is behind it",
	.try = "hostlat fleet report *.hlat",
	.examples = {
		{ "hostlat fleet report web1.hlat web2.hlat db1.hlat",
		  "Compare the connections of three hosts, recorded at the same time" },
		{ "hostlat fleet report *.hlat --topology hosts.csv --topology links.csv",
		  "Find the rack, switch or link as well" },
		{ "hostlat fleet ingest --store fleet.db *.hlat",
		  "Keep recordings of many hosts in a store (once made by fleet init)" },
		{ "hostlat fleet report --store fleet.db --since 6h",
		  "Report on the last six hours of the store" },
	},
	.options = fleet_options,
	.config_size = sizeof(struct fleet_config),
	.run = fleet_command_run,
};
