/* SPDX-License-Identifier: Apache-2.0 */
#include "load/setup_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/methods.h"
#include "load/scheduling.h"

enum option_type {
	OPTION_U32, OPTION_U64, OPTION_NS, OPTION_PERCENT, OPTION_FRACTION, OPTION_FLAG,
	OPTION_WORD, OPTION_TEXT,
};

#define METHOD_WORD(id, name, help, row) name,
static const char *const methods[] = { METHOD_ROWS(METHOD_WORD) NULL };

#define ALWAYS -1.0 /* `usual`: the default depends on other options */

/* An option, where its value is, and its default, which is not repeated. */
struct setup_option {
	const char *name;
	enum option_type type;
	size_t offset;            /* in struct load_setup */
	double usual;
	const char *const *words; /* OPTION_WORD: names of the values */
};

#define AT(member) offsetof(struct load_setup, member)

static const struct setup_option options[] = {
	{ "workload", OPTION_TEXT, AT(workload), 0, NULL },
	{ "replay", OPTION_TEXT, AT(replay), 0, NULL },
	{ "loop", OPTION_WORD, AT(config.loop), 0, load_setup_loops },
	{ "connections", OPTION_U32, AT(config.connections), ALWAYS, NULL },
	{ "outstanding", OPTION_U32, AT(config.outstanding), 1, NULL },
	{ "threads", OPTION_U32, AT(config.threads), 1, NULL },
	{ "requests-per-connection", OPTION_U64, AT(config.requests_per_connection), 0, NULL },
	{ "priority", OPTION_WORD, AT(config.priority), PRIORITY_REALTIME, scheduling_priorities },
	{ "pin", OPTION_FLAG, AT(config.pin), 0, NULL },
	{ "spin", OPTION_FLAG, AT(config.spin), 0, NULL },
	{ "preload", OPTION_FLAG, AT(config.preload), 0, NULL },
	{ "insecure", OPTION_FLAG, AT(config.insecure), 0, NULL },
	{ "ca", OPTION_TEXT, AT(ca), 0, NULL },
	{ "cert", OPTION_TEXT, AT(cert), 0, NULL },
	{ "expect", OPTION_TEXT, AT(expect), 0, NULL },
	{ "bind", OPTION_TEXT, AT(bind), 0, NULL },
	{ "timestamps", OPTION_WORD, AT(config.stamps), STAMPS_USER, load_setup_stamps },
	{ "for", OPTION_NS, AT(analysis.max_time_ns), ALWAYS, NULL },
	{ "timeout", OPTION_NS, AT(config.timeout_ns), 2.0 * NS_PER_S, NULL },
	{ "percentile", OPTION_PERCENT, AT(analysis.percentile), 0.99, NULL },
	{ "confidence", OPTION_PERCENT, AT(analysis.confidence), 0.95, NULL },
	{ "ci-width", OPTION_NS, AT(analysis.ci_width_ns), 0, NULL },
	{ "max-errors", OPTION_FRACTION, AT(analysis.max_errors), 0.001, NULL },
	{ "method", OPTION_WORD, AT(analysis.method), 0, methods },
	{ "excise", OPTION_FLAG, AT(analysis.excise), 0, NULL },
	{ "abort-on", OPTION_TEXT, AT(abort_on), 0, NULL },
};

static const struct column option_columns[] = {
	{ "name", NULL, 0, 0 }, { "value", NULL, 0, 0 },
};

static void options_add(struct table *t, const char *name, const char *value)
{
	TABLE_ADD(t, value_string(name), value_string(value));
}

/* Returns a time in its largest whole unit: "4s", "250ms". */
static const char *options_time(struct report *r, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { NS_PER_S, "s" }, { NS_PER_MS, "ms" }, { 1000, "us" }, { 1, "ns" } };
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	return report_format(r, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
}

static void options_add_number(struct report *r, struct table *t, const struct setup_option *o,
			       uint64_t value)
{
	if ((double)value != o->usual)
		options_add(t, o->name, o->type == OPTION_NS ? options_time(r, value) :
			    report_format(r, "%" PRIu64, value));
}

static void options_add_one(struct report *r, struct table *t, const struct setup_option *o,
			    const void *member)
{
	switch (o->type) {
	case OPTION_U32:
		options_add_number(r, t, o, *(const uint32_t *)member);
		return;
	case OPTION_U64:
	case OPTION_NS:
		options_add_number(r, t, o, *(const uint64_t *)member);
		return;
	case OPTION_PERCENT:
		if (*(const double *)member != o->usual)
			options_add(t, o->name,
				    report_format(r, "%.10g", 100 * *(const double *)member));
		return;
	case OPTION_FRACTION:
		if (*(const double *)member != o->usual)
			options_add(t, o->name,
				    report_format(r, "%.10g%%", 100 * *(const double *)member));
		return;
	case OPTION_FLAG:
		if (*(const bool *)member)
			options_add(t, o->name, NULL);
		return;
	case OPTION_WORD:
		if ((double)*(const uint32_t *)member != o->usual)
			options_add(t, o->name, o->words[*(const uint32_t *)member]);
		return;
	case OPTION_TEXT:
		if (*(const char *)member)
			options_add(t, o->name, member);
		return;
	}
}

/* Adds what is loaded. A list of URLs with weights is a file. */
static void options_add_targets(const struct load_setup *s, struct table *t)
{
	if (*s->urls_file)
		options_add(t, "urls", s->urls_file);
	for (uint32_t i = 0; !*s->urls_file && i < s->n_targets; i++)
		options_add(t, NULL, s->targets[i]);
}

/* Adds the times of the requests: those of a file have a rate of their own. */
static void options_add_times(const struct load_setup *s, struct report *r, struct table *t)
{
	const char *law = s->arrival, *speed;
	size_t len;

	if (s->config.loop == LOOP_CLOSED)
		return;
	if (s->analysis.arrival.kind != ARRIVAL_FILE)
		options_add(t, "rate", report_format(r, "%.10g", s->analysis.rate));
	if (strncmp(law, "replay:", 7) != 0) {
		if (strcmp(law, "poisson") != 0)
			options_add(t, "arrival", law);
		return;
	}
	speed = law + 7; /* "replay:SPEED:FILE" */
	len = strcspn(speed, ":");
	if (len != 1 || *speed != '1')
		options_add(t, "replay-speed", report_format(r, "%.*s", (int)len, speed));
}

/* Adds what requests and connections are: "NAME VALUE", as recorded. */
static void options_add_request(const struct load_setup *s, struct report *r, struct table *t)
{
	for (uint32_t i = 0; i < s->n_request; i++) {
		const size_t len = strcspn(s->request[i], " ");
		const char *name = report_format(r, "%.*s", (int)len, s->request[i]);

		options_add(t, strcmp(name, "method") != 0 ? name : "http-method",
			    s->request[i] + len + (s->request[i][len] == ' '));
	}
	for (uint32_t i = 0; i < s->config.commands.len; i++)
		options_add(t, "command", s->config.commands.items[i]);
}

/* Adds an option with as many hosts as there were: their names are not recorded. */
static void options_add_hosts(struct report *r, struct table *t, const char *name, uint32_t n)
{
	const char *hosts = "HOST";

	for (uint32_t i = 1; i < n; i++)
		hosts = report_format(r, "%s,HOST", hosts);
	options_add(t, name, hosts);
}

struct value setup_options(const struct load_setup *s, struct report *r)
{
	struct table *t = table_new(r, option_columns, ARRAY_LEN(option_columns));
	const uint32_t loading = s->analysis.agents - s->analysis.probes;

	options_add_targets(s, t);
	options_add_times(s, r, t);
	options_add_request(s, r, t);
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].type != OPTION_WORD || options[i].words != scheduling_priorities ||
		    s->config.priority != PRIORITY_UNKNOWN)
			options_add_one(r, t, &options[i], (const char *)s + options[i].offset);
	if (s->config.drain_ns != s->config.timeout_ns)
		options_add(t, "drain", options_time(r, s->config.drain_ns));
	if (s->config.spread)
		options_add(t, "addresses", "all");
	if (loading > 1 || s->analysis.probes)
		options_add_hosts(r, t, "agents", loading);
	if (s->analysis.probes)
		options_add_hosts(r, t, "latency-agents", s->analysis.probes);
	return value_table(t);
}
