/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat fleet: finds the application, host, rack or link behind the problems of many hosts'
 * connections, in their recordings.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/readfile.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cmd/fleet_read.h"
#include "cmd/fleet_result.h"
#include "cmd/result.h"
#include "fleet/fleet.h"
#include "fleet/paper_report.h"
#include "fleet/report.h"

#define TABLE_BYTES_MAX (256UL << 20)
#define WHY_MAX 4096u
/* Share of findings that may be chance. */
#define FALSE_FINDINGS 0.05
#define SHIFTS_SEED 1u

enum fleet_action { FLEET_ACTION_REPORT };

struct fleet_config {
	uint32_t action;
	struct opt_files files;
	struct opt_list topology;
	const char *apps;
	uint64_t step_ns;
	const char *reader;
	bool all, paper;
	struct common_options common;
};

static const struct opt_choice action_choices[] = {
	{ "report", FLEET_ACTION_REPORT, NULL },
	{ NULL, 0, NULL },
};

static const struct opt fleet_options[] = {
	OPT_CHOICE(struct fleet_config, action, .name = "report",
		   .group = OPT_TARGET, .positional = true, .required = true,
		   .choices = action_choices,
		   .help = "Report on recordings of hostlat conns --record"),
	OPT_FILES(struct fleet_config, files, .name = "FILE",
		  .group = OPT_TARGET, .required = true,
		  .help = "Recordings of different hosts at the same time; a host may have "
			  "several, one after the other"),
	OPT_LIST(struct fleet_config, topology, .name = "topology",
		 .group = OPT_TARGET, .file = true, .metavar = "FILE",
		 .help = "CSV table of hosts (host,rack,instance,addresses), of switches "
			 "(rack,switch) or of links (from,to,link)"),
	OPT_STRING(struct fleet_config, apps, .name = "apps",
		   .group = OPT_TARGET, .file = true, .metavar = "FILE",
		   .help = "CSV table of applications' names, of which the first row that fits "
			   "decides: application, and unit, cgroup, container, command, port"),
	OPT_DURATION(struct fleet_config, step_ns, .name = "step",
		     .group = OPT_MEASURE, .def = "2s", .min = 100 * NS_PER_MS,
		     .max = NS_PER_DAY,
		     .help = "Length of the intervals in which connections are compared; the "
			     "hosts' clocks must agree within a quarter of it"),
	OPT_STRING(struct fleet_config, reader, .name = "reader",
		   .group = OPT_OUTPUT, .metavar = "network|APPLICATION",
		   .help = "Show only what this reader can change: the network's operator, or the "
			   "developer of the application of that name"),
	OPT_FLAG(struct fleet_config, all, .name = "all",
		 .group = OPT_OUTPUT, .letter = 'a',
		 .help = "Show all findings, with all of their connections"),
	OPT_FLAG(struct fleet_config, paper, .name = "paper",
		 .group = OPT_MEASURE,
		 .help = "Add what the method of the SNAP paper finds: resources whose "
			 "connections' average correlation is above 0.4"),
	OPTIONS_COMMON(struct fleet_config, common),
	OPT_END,
};

/* ---- tables ---- */

typedef int fleet_table_fn(void *to, const char *file, char *text, size_t len, struct strbuf *why);

static int fleet_read_topology(void *to, const char *file, char *text, size_t len,
			       struct strbuf *why)
{
	return topology_read(to, file, text, len, why);
}

static int fleet_read_apps(void *to, const char *file, char *text, size_t len, struct strbuf *why)
{
	return apps_read(to, file, text, len, why);
}

/* Reports an error of a table. Returns the exit code. */
static int fleet_table_failed(const char *file, const struct strbuf *why, int err)
{
	if (err == -EINVAL)
		log_error("%s", strbuf_str(why));
	else if (err == -E2BIG)
		log_error("%s is larger than 256 MiB: is it the right file?", file);
	else
		log_error("cannot read %s: %s", file, strerror(-err));
	return EXIT_CANNOT;
}

/* Reads a table from a file. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
static int fleet_table(const char *file, fleet_table_fn *read, void *to)
{
	struct strbuf text = STRBUF_INIT(TABLE_BYTES_MAX), why = STRBUF_INIT(WHY_MAX);
	int err = readfile(file, &text), code = EXIT_OK;
	const size_t len = text.len;
	char *table;

	if (!err)
		strbuf_puts(&text, "");
	table = err ? NULL : len ? strbuf_detach(&text) : strdup("");
	if (!err && !table)
		err = -ENOMEM;
	if (!err)
		err = read(to, file, table, len, &why);
	if (err)
		code = fleet_table_failed(file, &why, err);
	free(table);
	strbuf_release(&text);
	strbuf_release(&why);
	return code;
}

static int fleet_tables(const struct fleet_config *c, struct fleet_inputs *in)
{
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	int code = EXIT_OK, err;

	for (uint32_t i = 0; i < c->topology.len && code == EXIT_OK; i++)
		code = fleet_table(c->topology.items[i], fleet_read_topology, in->topology);
	err = code == EXIT_OK ? topology_finish(in->topology, &why) : 0;
	if (err)
		code = fleet_table_failed("--topology", &why, err);
	if (code == EXIT_OK && c->apps)
		code = fleet_table(c->apps, fleet_read_apps, in->apps);
	strbuf_release(&why);
	return code;
}

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
		       const struct fleet *f, const struct fleet_result *result,
		       const struct fleet_view *view)
{
	const struct provenance who = {
		.version = hostlat_version(), .command = "fleet", .schema = FLEET_SCHEMA,
		.started_ns = in->grid.start_ns,
	};
	struct report report;
	int err, code = EXIT_CANNOT;

	report_init(&report, &who);
	err = fleet_report(f, result, view, &report);
	err = err || !c->paper ? err : fleet_paper_report(f, &report);
	if (err) {
		log_error("cannot make the result: %s", strerror(-err));
	} else {
		fleet_result_add(in, &report);
		code = result_print(&report, &c->common);
	}
	report_release(&report);
	return code;
}

static int fleet_analyze_recordings(const struct fleet_config *c, struct fleet_inputs *in)
{
	const struct fleet_options options = { .alpha = FALSE_FINDINGS, .seed = SHIFTS_SEED };
	struct fleet_result result = { 0 };
	struct fleet *f = fleet_new(&in->grid);
	struct fleet_view view;
	int code = EXIT_CANNOT;

	if (!f) {
		log_error("out of memory");
		return code;
	}
	code = fleet_read(in, f);
	if (code == EXIT_OK && !fleet_set_reader(c, f, &view))
		code = EXIT_USAGE;
	if (code == EXIT_OK && fleet_analyze(f, &options, &result)) {
		log_error("out of memory");
		code = EXIT_CANNOT;
	}
	if (code == EXIT_OK)
		code = fleet_print(c, in, f, &result, &view);
	fleet_result_release(&result);
	fleet_free(f);
	return code;
}

static int fleet_command_run(const void *config)
{
	const struct fleet_config *c = config;
	struct fleet_inputs in = { .topology = topology_new(), .apps = apps_new() };
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (in.topology && in.apps)
		code = fleet_tables(c, &in);
	else
		log_error("out of memory");
	if (code == EXIT_OK)
		code = fleet_scan_read(&in.scan, c->files.items, c->files.len);
	if (code == EXIT_OK)
		code = fleet_scan_grid(&in.scan, c->step_ns, &in.grid) ? EXIT_OK : EXIT_USAGE;
	if (code == EXIT_OK)
		code = fleet_analyze_recordings(c, &in);
	fleet_scan_release(&in.scan);
	topology_free(in.topology);
	apps_free(in.apps);
	return code;
}

const struct command cmd_fleet = {
	.name = "fleet",
	.reads_only = true,
	.summary = "find what is behind the problems of many hosts' connections",
	.task = "which rack or link is behind it",
	.try = "hostlat fleet report *.hlat",
	.examples = {
		{ "hostlat fleet report web1.hlat web2.hlat db1.hlat",
		  "Compare the connections of three hosts, recorded at the same time" },
		{ "hostlat fleet report *.hlat --topology hosts.csv --topology links.csv",
		  "Find the rack, switch or link as well" },
		{ "hostlat fleet report *.hlat --apps apps.csv --json -o fleet.json",
		  "Name applications by a table of rules, and print JSON" },
	},
	.options = fleet_options,
	.config_size = sizeof(struct fleet_config),
	.run = fleet_command_run,
};
