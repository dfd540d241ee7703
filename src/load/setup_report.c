/* SPDX-License-Identifier: Apache-2.0 */
#include "load/setup_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/bug.h"
#include "load/scheduling.h"
#include "load/setup_options.h"
#include "report/human.h"

#define REQUEST_SHOWN_MAX 100 /* bytes of an option of requests in text */

/* Options of requests, except header fields: their names in facts and in JSON. */
static const struct {
	const char *fact, *key;
} request_names[] = {
	{ "method", "method" },
	{ "body", "body" },
	{ "auth", "auth" },
	{ "connect-to", "connect_to" },
	{ "sni", "sni" },
	{ "tls-resumption", "tls_resumption" },
};

static struct value setup_nonzero(uint64_t n)
{
	return n ? value_u64(n) : value_null();
}

/* Splits a text into a list. */
static struct string_list *setup_split(const char *text, const char *separator, struct report *r)
{
	struct string_list *list = list_new(r);

	while (*text) {
		const size_t size = strcspn(text, separator);

		list_add(list, "%.*s", (int)size, text);
		text += size + (text[size] != '\0');
	}
	return list;
}

/* Adds lines about the addresses of both ends. */
static void setup_add_address_lines(const struct load_setup *s, struct string_list *lines)
{
	const char *dead = s->dead;

	if (*s->addresses)
		list_add(lines, "%s", s->addresses);
	if (*s->urls_file)
		list_add(lines, "URLs and their weights are those of %s", s->urls_file);
	if (*s->replay)
		list_add(lines, "requests are those recorded in %s", s->replay);
	if (*s->bind)
		list_add(lines, "connections come from %s in turn", s->bind);
	while (*dead) {
		const size_t size = strcspn(dead, "\n");

		list_add(lines, "not used: %.*s", (int)size, dead);
		dead += size + (dead[size] != '\0');
	}
}

static void setup_add_line(const struct load_setup *s, struct report *r)
{
	static const char *const of_priority[] = { "", " of high priority",
						   " of real-time priority", "" };
	const struct load_config *c = &s->config;
	struct string_list *lines = list_new(r);
	char conns[HUMAN_MAX], error[HUMAN_MAX], rate[HUMAN_MAX];

	list_add(lines, "%s loop, %s arrivals, %s connection%s with %" PRIu32 " outstanding each, "
		 "%" PRIu32 " thread%s%s, seed %" PRIu64, load_setup_loops[c->loop],
		 c->loop == LOOP_CLOSED ? "no" : s->arrival, human_count(conns, c->connections),
		 c->connections == 1 ? "" : "s", c->outstanding, c->threads,
		 c->threads == 1 ? "" : "s",
		 of_priority[c->priority], c->seed);
	if (c->rate_probed > 0)
		list_add(lines, "the rate was chosen: one connection reached %s/s, one request at "
			 "a time; --rate sets another", human_rate(rate, c->rate_probed));
	if (*s->nics && s->nic_error_ns)
		list_add(lines, "time stamps of %s come from the NIC's clock and are converted "
			 "with an error of at most %s", s->nics, human_ns(error, s->nic_error_ns));
	setup_add_address_lines(s, lines);
	for (uint32_t i = 0; i < s->n_request; i++)
		list_add(lines, "with %.*s", REQUEST_SHOWN_MAX, s->request[i]);
	object_add(&r->body, NULL, value_list(lines));
}

/* Adds "request": a member per option, and an array of header fields. */
static void setup_add_request_report(const struct load_setup *s, struct object *to,
				     struct report *r)
{
	struct object *o = object_new(r);
	struct string_list *headers = list_new(r);
	bool any = false;

	for (uint32_t i = 0; i < s->n_request; i++) {
		const char *value = strchr(s->request[i], ' ') + 1;

		any |= !strncmp(s->request[i], "header ", 7);
		if (!strncmp(s->request[i], "header ", 7))
			list_add(headers, "%s", value);
	}
	if (any)
		object_add(o, "headers", value_list(headers));
	for (size_t k = 0; k < ARRAY_LEN(request_names); k++) {
		const size_t size = strlen(request_names[k].fact);

		for (uint32_t i = 0; i < s->n_request; i++) {
			const char *text = s->request[i];

			if (!strncmp(text, request_names[k].fact, size) && text[size] == ' ')
				object_add(o, request_names[k].key, value_string(text + size + 1));
		}
	}
	if (s->n_request)
		object_add(to, "request", value_object(o));
}

static struct string_list *setup_list_commands(const struct load_config *c, struct report *r)
{
	struct string_list *list = list_new(r);

	for (uint32_t i = 0; i < c->commands.len; i++)
		list_add(list, "%s", c->commands.items[i]);
	return list;
}

void load_setup_report(const struct load_setup *s, struct report *r)
{
	const struct load_config *c = &s->config;
	struct object *o = object_new(r);
	struct string_list *urls = list_new(r);

	for (uint32_t i = 0; i < s->n_targets; i++)
		list_add(urls, "%s", s->targets[i]);
	object_add(o, "targets", value_list(urls));
	object_add(o, "addresses", value_string(*s->addresses ? s->addresses : NULL));
	if (*s->dead)
		object_add(o, "dead_addresses", value_list(setup_split(s->dead, "\n", r)));
	if (c->spread)
		object_add(o, "use_addresses", value_string("all"));
	if (*s->urls_file)
		object_add(o, "urls", value_string(s->urls_file));
	if (*s->replay)
		object_add(o, "replay", value_string(s->replay));
	if (*s->bind)
		object_add(o, "bind", value_list(setup_split(s->bind, ",", r)));
	object_add(o, "loop", value_string(load_setup_loops[c->loop]));
	object_add(o, "arrival", value_string(c->loop == LOOP_OPEN ? s->arrival : NULL));
	if (c->rate_probed > 0)
		object_add(o, "rate_probed", value_number(c->rate_probed));
	object_add(o, "workload", value_string(c->workload));
	if (c->commands.len)
		object_add(o, "commands", value_list(setup_list_commands(c, r)));
	object_add(o, "timestamps", value_string(load_setup_stamps[c->stamps]));
	if (c->stamps == STAMPS_NIC) {
		object_add(o, "nics", value_string(s->nics));
		object_add(o, "nic_error_ns", setup_nonzero(s->nic_error_ns));
	}
	object_add(o, "threads", value_u64(c->threads));
	object_add(o, "connections", value_u64(c->connections));
	object_add(o, "outstanding", value_u64(c->outstanding));
	object_add(o, "requests_per_connection", setup_nonzero(c->requests_per_connection));
	object_add(o, "priority", c->priority == PRIORITY_UNKNOWN ? value_null() :
						 value_string(scheduling_priorities[c->priority]));
	object_add(o, "pin", value_bool(c->pin));
	object_add(o, "spin", value_bool(c->spin));
	object_add(o, "preload", value_bool(c->preload));
	object_add(o, "insecure", value_bool(c->insecure));
	object_add(o, "ca", value_string(c->ca_file));
	if (c->cert_file)
		object_add(o, "cert", value_string(c->cert_file));
	setup_add_request_report(s, o, r);
	if (c->expect)
		object_add(o, "expect", value_string(c->expect));
	if (c->abort_on)
		object_add(o, "abort_on", value_string(c->abort_on));
	object_add(o, "agents", value_u64(s->analysis.agents));
	object_add(o, "latency_agents", value_u64(s->analysis.probes));
	object_add(o, "seed", value_u64(c->seed));
	object_add(o, "max_time_ns", value_ns(s->analysis.max_time_ns));
	object_add(o, "timeout_ns", value_ns(c->timeout_ns));
	object_add(o, "drain_ns", value_ns(c->drain_ns));
	object_add(o, "excise", value_bool(s->analysis.excise));
	object_add(o, "max_errors", value_fraction(s->analysis.max_errors));
	object_add(o, "ci_width_ns", s->analysis.ci_width_ns ? value_ns(s->analysis.ci_width_ns)
							      : value_null());
	object_add(o, "options", setup_options(s, r));
	object_add(&r->body, "setup", value_object(o));
	setup_add_line(s, r);
}
