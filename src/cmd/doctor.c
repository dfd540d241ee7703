/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat doctor: reports what this host can measure, and which of its settings cost latency. */
#include <linux/capability.h>
#include <string.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/result.h"
#include "host/cap.h"
#include "host/facts_collect.h"
#include "host/tuning.h"
#include "probe/caps.h"
#include "report/report.h"

#define DOCTOR_SCHEMA   1
#define UNKNOWN_TEXT    512     /* bytes of a list of unknown capabilities or facts */

struct doctor_config {
	bool tuning;
	bool facts;
	struct common_options common;
};

static const struct opt doctor_options[] = {
	OPT_FLAG(struct doctor_config, tuning, .name = "tuning",
		 .group = OPT_MEASURE, .excludes = "facts",
		 .help = "Show the settings of this machine that are known to cost latency"),
	OPT_FLAG(struct doctor_config, facts, .name = "facts",
		 .group = OPT_MEASURE,
		 .help = "Show all set-up facts, as they are stored in a recording"),
	OPTIONS_COMMON(struct doctor_config, common),
	OPT_END,
};

static const char *const state_names[] = {
	[CAP_NO] = "no",
	[CAP_YES] = "yes",
	[CAP_UNKNOWN] = NULL,   /* shown as n/a */
};

/* Appends `name` to a comma-separated list. */
static void doctor_list_name(struct strbuf *names, const char *name)
{
	strbuf_printf(names, "%s%s", names->len ? ", " : "", name);
}

/* Adds a reason if `n` capabilities or facts are unknown, which makes the result partial. */
static void doctor_unknown_reason(struct report *report, const char *what, size_t n,
				  const struct strbuf *names)
{
	if (n)
		report_reason(report, "not-permitted", strbuf_str(names),
			      "%zu %s could not be determined%s", n, what,
			      host_may(NULL, CAP_SYS_ADMIN) ? "" : "; run as root (sudo)");
}

static void doctor_show_capabilities(struct report *report, const struct cap_vec *caps)
{
	/* In text, a capability's finding and remedy share one cell. */
	static const struct column columns[] = {
		{ .name = "area", .head = "area" },
		{ .name = "capability", .head = "capability" },
		{ .name = "state", .head = "" },
		{ .name = "found" },
		{ .name = "takes" },
		{ .name = "without" },
		{ .head = "found, or what is needed" },
	};
	struct table *table = table_new(report, columns, ARRAY_LEN(columns));
	struct strbuf unknown = STRBUF_INIT(UNKNOWN_TEXT); /* areas with unknown capabilities */
	const char *last = NULL;
	size_t count[] = { [CAP_NO] = 0, [CAP_YES] = 0, [CAP_UNKNOWN] = 0 };

	vec_for_each(caps, cap) {
		const char *text = cap->found;

		if (cap->takes && cap->found[0])
			text = report_format(report, "%s; takes %s", cap->found, cap->takes);
		else if (cap->takes)
			text = report_format(report, "takes %s", cap->takes);
		if (cap->without)
			text = report_format(report, "%s; without it: %s", text, cap->without);
		TABLE_ADD(table, value_string(cap->area), value_string(cap->name),
			  value_string(state_names[cap->state]),
			  value_string(cap->found[0] ? cap->found : NULL), value_string(cap->takes),
			  value_string(cap->without), value_string(text));
		count[cap->state]++;
		if (cap->state != CAP_UNKNOWN || (last && !strcmp(last, cap->area)))
			continue;
		last = cap->area;
		doctor_list_name(&unknown, last);
	}
	report_summary(report, "%zu capabilities", count[CAP_YES]);
	report_summary(report, "%zu missing", count[CAP_NO]);
	if (count[CAP_UNKNOWN])
		report_summary(report, "%zu unknown", count[CAP_UNKNOWN]);
	object_add(&report->body, "capabilities", value_table(table));
	doctor_unknown_reason(report, "capabilities", count[CAP_UNKNOWN], &unknown);
	strbuf_release(&unknown);
}

/*
 * Adds advice on the host's settings: a table in JSON, lines in text. In text, the sentences do not
 * fit into columns.
 */
static void doctor_show_tuning(struct report *report, const struct host_advice_vec *advice)
{
	static const struct column columns[] = {
		{ .name = "fact" }, { .name = "value" }, { .name = "why" }, { .name = "source" },
		{ .name = "change" },
	};
	struct table *table = table_new(report, columns, ARRAY_LEN(columns));
	struct string_list *lines = list_new(report);

	vec_for_each(advice, a) {
		TABLE_ADD(table, value_string(a->fact), value_string(a->value),
			  value_string(a->why), value_string(a->source), value_string(a->change));
		list_add(lines, "%s = %s", a->fact, a->value);
		list_add(lines, "    costs    %s", a->why);
		list_add(lines, "    change   %s", a->change);
		list_add(lines, "    source   %s", a->source);
	}
	report_summary(report, "%zu settings cost latency", advice->len);
	object_add(&report->body, "tuning", value_table(table));
	object_add(&report->body, NULL, value_list(lines));
}

/* Adds all set-up facts to JSON (null: unknown), and to text if --facts asks for them. */
static void doctor_show_facts(struct report *report, const struct host_facts *facts, bool text)
{
	static const struct column columns[] = {
		{ .head = "fact" },
		{ .head = "value" },
	};
	struct table *table = table_new(report, columns, ARRAY_LEN(columns));
	struct object *object = object_new(report);

	vec_for_each(facts, fact) {
		object_add(object, fact->key, value_string(fact->known ? fact->value : NULL));
		TABLE_ADD(table, value_string(fact->key), value_string(fact->value));
	}
	object_add(&report->body, "facts", value_object(object));
	if (text) {
		report_summary(report, "%zu facts", facts->len);
		object_add(&report->body, NULL, value_table(table));
	}
}

static void doctor_check_facts(struct report *report, const struct host_facts *facts)
{
	struct strbuf unknown = STRBUF_INIT(UNKNOWN_TEXT);
	size_t n = 0;

	for (size_t i = 0; i < facts->len; i++) {
		if (facts->items[i].known)
			continue;
		doctor_list_name(&unknown, facts->items[i].key);
		n++;
	}
	doctor_unknown_reason(report, "facts", n, &unknown);
	strbuf_release(&unknown);
}

static int cmd_doctor_run(const void *cfg)
{
	const struct doctor_config *config = cfg;
	struct host_advice_vec advice = { 0 };
	struct host_facts facts = { 0 };
	struct cap_vec caps = { 0 };
	struct report report;
	int err, result;

	common_begin(&config->common);
	privilege_keep(PRIVILEGE_COLLECT | PRIVILEGE(CAP_SYSLOG) | PRIVILEGE(CAP_NET_RAW));
	result_begin(&report, "doctor", DOCTOR_SCHEMA);
	report_title(&report, "%s", report.provenance.host);
	cap_vec_init(&caps);
	err = host_facts_collect(NULL, &facts);
	if (!err && config->tuning)
		err = host_tuning(&facts, &advice);
	if (!err && !config->tuning && !config->facts) {
		host_caps_collect(NULL, &caps);
		probe_caps_collect(&caps);
		err = caps.error;
	}
	if (err) {
		log_error("cannot examine this machine: %s", strerror(-err));
		result = EXIT_CANNOT;
		goto out;
	}
	if (config->tuning)
		doctor_show_tuning(&report, &advice);
	else if (!config->facts)
		doctor_show_capabilities(&report, &caps);
	doctor_show_facts(&report, &facts, config->facts);
	if (config->tuning || config->facts)
		doctor_check_facts(&report, &facts);
	report_place_verdict(&report);
	result = result_print(&report, &config->common);
out:
	report_release(&report);
	host_advice_vec_release(&advice);
	host_facts_release(&facts);
	cap_vec_release(&caps);
	return result;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "show what this machine can measure and which of its settings cost latency",
	.task = "what can be measured here",
	.try = "sudo hostlat doctor",
	.examples = {
		{ "sudo hostlat doctor",
		  "List what can be measured here" },
		{ "hostlat doctor --tuning",
		  "List the settings that cost latency" },
		{ "hostlat doctor --json | jq -r '.facts[\"kernel.preempt\"]'",
		  "Print one set-up fact" },
	},
	.options = doctor_options,
	.config_size = sizeof(struct doctor_config),
	.run = cmd_doctor_run,
};
