/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a load generator's slow requests: their parts, and their causes on either side. */
#include "base/bug.h"
#include "diagnose/request_causes.h"
#include "diagnose/requests.h"
#include "diagnose/sections.h"
#include "report/human.h"

static const char *const part_names[REQUEST_PARTS] = {
	[REQUEST_CLIENT] = "client", [REQUEST_NETWORK] = "network",
	[REQUEST_SERVER] = "server", [REQUEST_UNEXPLAINED] = "unexplained",
};

static const struct column request_columns[] = {
	{ "intended_ns", NULL, 0, 0 }, { "latency_ns", NULL, 0, 0 },
	{ "client_ns", NULL, 0, 0 },   { "network_ns", NULL, 0, 0 },
	{ "server_ns", NULL, 0, 0 },   { "unexplained_ns", NULL, 0, 0 },
	{ "message", NULL, 0, 0 },     { "why", NULL, 0, 0 },
};

static void requests_add_finding(const struct requests *requests,
				 const uint64_t parts[REQUEST_PARTS], struct report *r)
{
	char count[HUMAN_MAX], from[HUMAN_MAX], shares[REQUEST_PARTS][HUMAN_MAX];
	uint64_t all = 0;

	for (int i = 0; i < REQUEST_PARTS; i++)
		all += parts[i];
	for (int i = 0; i < REQUEST_PARTS; i++)
		human_fraction(shares[i], all ? (double)parts[i] / (double)all : 0);
	if (all)
		report_finding(r, "The %s slowest requests, from %s on: server %s, network %s, "
			       "client %s, unexplained %s.",
			       human_count(count, requests->targets),
			       human_ns(from, requests->at), shares[REQUEST_SERVER],
			       shares[REQUEST_NETWORK], shares[REQUEST_CLIENT],
			       shares[REQUEST_UNEXPLAINED]);
}

static int requests_add_causes(const struct diagnosis *d, struct report *r, struct object *o,
			       bool findings)
{
	const struct request_causes *c = d->request_causes;
	struct population p = { .rec = &d->own, .requests = true, .findings = findings };
	int err;

	if (!c) {
		object_add(o, "causes", value_null());
		return 0;
	}
	p.breakdowns = c->breakdowns;
	p.excesses = &c->targets;
	p.without = c->without;
	err = report_causes(&p, r, o);
	report_without(&p, r, o);
	object_add(o, "usual_ns", value_ns(c->usual.latency));
	object_add(o, "usual_is_slow", value_bool(d->requests->usual_is_slow));
	return err;
}

static void requests_add_each(const struct requests *requests, struct report *r, struct object *o)
{
	struct table *t = table_new(r, request_columns, ARRAY_LEN(request_columns));

	for (size_t i = 0; i < requests->targets; i++) {
		const struct slow_request *q = &requests->chosen.items[i];

		TABLE_ADD(t, value_ns(q->intended), value_ns(q->latency),
			  value_ns(q->parts[REQUEST_CLIENT]), value_ns(q->parts[REQUEST_NETWORK]),
			  value_ns(q->parts[REQUEST_SERVER]),
			  value_ns(q->parts[REQUEST_UNEXPLAINED]),
			  q->message ? value_u64(q->message) : value_null(),
			  value_string(q->why));
	}
	object_add(o, "each", value_table(t));
}

/* Sums the parts of the slowest requests; returns how many have a message. */
static uint64_t requests_sum(const struct requests *requests, uint64_t parts[REQUEST_PARTS])
{
	uint64_t joined = 0;

	for (size_t k = 0; k < requests->targets; k++) {
		for (int i = 0; i < REQUEST_PARTS; i++)
			parts[i] += requests->chosen.items[k].parts[i];
		joined += requests->chosen.items[k].message != 0;
	}
	return joined;
}

bool report_requests_known(const struct diagnosis *d)
{
	uint64_t parts[REQUEST_PARTS] = { 0 };

	if (!d->requests || !d->request_causes)
		return false;
	requests_sum(d->requests, parts);
	return parts[REQUEST_UNEXPLAINED] < parts[REQUEST_CLIENT] + parts[REQUEST_NETWORK] +
					    parts[REQUEST_SERVER];
}

int report_requests(const struct diagnosis *d, struct report *r, bool findings)
{
	const struct requests *requests = d->requests;
	struct object *o = object_new(r), *sums = object_new(r);
	uint64_t parts[REQUEST_PARTS] = { 0 };
	const uint64_t joined = requests_sum(requests, parts);
	char buf[HUMAN_MAX];
	int err;

	requests_add_finding(requests, parts, r);
	object_add(o, "from_ns", value_ns(d->options.load.from_ns));
	object_add(o, "to_ns", d->options.load.to_ns == UINT64_MAX ?
				       value_null() : value_ns(d->options.load.to_ns));
	object_add(o, "count", value_u64(requests->count));
	object_add(o, "slowest", value_u64(requests->targets));
	object_add(o, "joined", value_u64(joined));
	object_add(o, "latency", value_distribution(r, &requests->latency));
	for (int i = 0; i < REQUEST_PARTS; i++)
		object_add(sums, report_format(r, "%s_ns", part_names[i]),
			   value_ns(parts[i]));
	object_add(o, "parts", value_object(sums));
	err = requests_add_causes(d, r, o, findings);
	if (findings && requests->usual_is_slow)
		report_finding(r, "The usual request is slow, too, as p50 is more than 3 times p5: "
			       "the slow ones are compared with the fastest tenth, %s at the mean.",
			       human_ns(buf, d->request_causes->usual.latency));
	requests_add_each(requests, r, o);
	object_add(&r->body, "requests", value_object(o));
	return err;
}
