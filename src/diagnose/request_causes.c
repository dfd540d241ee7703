/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/request_causes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "diagnose/requests.h"
#include "diagnose/without.h"

#define UNEXPLAINED_AT(where) CAUSE_PLACE(CAUSE_UNEXPLAINED, where)

/* ---- breakdowns ---- */

/* Returns by message the index + 1 of its subject, or NULL without memory. */
static uint32_t *request_causes_subjects(const struct recorded *server)
{
	uint32_t *subjects = calloc(server->messages.all.len + 1, sizeof(*subjects));

	for (uint32_t i = 0; subjects && i < server->subjects.len; i++)
		subjects[server->subjects.items[i].message] = i + 1;
	return subjects;
}

/* Adds the parts of a request. `threads`: what its threads did, of which some may be missing. */
static int request_causes_add_parts(struct breakdown *b, const struct slow_request *q,
				    const struct breakdown *threads,
				    const struct recorded *server, const uint32_t *subjects)
{
	const uint64_t own = q->parts[REQUEST_SERVER] - q->read_ns;
	const uint64_t waited = q->parts[REQUEST_CLIENT] + q->read_ns;
	const uint32_t subject = q->place ? subjects[q->place - 1] : 0;
	int err = 0;

	breakdown_add_ns(b, CAUSE_PLACE(CAUSE_NETWORK, WHERE_NETWORK), q->parts[REQUEST_NETWORK]);
	breakdown_add_ns(b, UNEXPLAINED_AT(WHERE_NETWORK), q->parts[REQUEST_UNEXPLAINED]);
	if (subject)
		err = breakdown_add_scaled(b, &server->breakdowns[subject - 1], own);
	else
		breakdown_add_ns(b, UNEXPLAINED_AT(WHERE_APPLICATION), own);
	if (breakdown_sum(threads))
		return err ?: breakdown_add_scaled(b, threads, waited);
	breakdown_add_ns(b, UNEXPLAINED_AT(WHERE_CLIENT), q->parts[REQUEST_CLIENT]);
	breakdown_add_ns(b, UNEXPLAINED_AT(WHERE_APPLICATION), q->read_ns);
	return err;
}

static int request_causes_divide(struct request_causes *c, struct requests *requests,
				 const struct recorded *server)
{
	struct breakdown *threads = calloc(c->n, sizeof(*threads));
	uint32_t *subjects = request_causes_subjects(server);
	int err = threads && subjects ? 0 : -ENOMEM;

	if (!err)
		err = thread_times_divide(&requests->times, server, threads);
	for (size_t i = 0; i < c->n && !err; i++) {
		const struct slow_request *q = &requests->chosen.items[i];

		err = request_causes_add_parts(&c->breakdowns[i], q, &threads[i], server,
					       subjects);
		BUG_ON(!err && breakdown_sum(&c->breakdowns[i]) != q->latency);
	}
	for (size_t i = 0; threads && i < c->n; i++)
		breakdown_release(&threads[i]);
	free(threads);
	free(subjects);
	return err;
}

/* ---- excess ---- */

static int request_causes_compare(struct request_causes *c, const struct requests *requests,
				  const struct recorded *server)
{
	const struct excess_options options = { .granularity = server->granularity,
						.rest = WHERE_NETWORK,
						.noise_times = DIAGNOSE_NOISE_TIMES };
	const size_t slow = requests->targets + requests->near;
	const struct breakdown **usual = calloc(c->n + 1, sizeof(*usual));
	int err = usual ? 0 : -ENOMEM;

	for (size_t i = slow; i < c->n && !err; i++)
		usual[i - slow] = &c->breakdowns[i];
	if (!err)
		err = baseline_make(&c->usual, usual, (uint32_t)(c->n - slow));
	free(usual);
	for (uint32_t i = 0; i < slow && !err; i++) {
		struct excess e = { .subject = i };

		excess_of(&c->usual, &c->breakdowns[i], requests->chosen.items[i].latency,
			  &options, &e);
		err = vec_push(i < requests->targets ? &c->targets : &c->near, e);
	}
	return err;
}

static int request_causes_without(struct request_causes *c, const struct requests *requests,
				  const struct recorded *server)
{
	const size_t slow = requests->targets + requests->near;
	struct without_input in = {
		.rec = server, .breakdowns = c->breakdowns, .targets = &c->targets, .n = slow,
		.n_targets = requests->targets, .all = requests->count - requests->beyond,
		.n_blocks = requests->n_blocks,
	};
	int err;

	in.slow = calloc(slow + 1, sizeof(*in.slow));
	if (!in.slow)
		return -ENOMEM;
	for (size_t i = 0; i < in.n_blocks; i++)
		in.rest[i] = requests->blocks[i];
	for (size_t i = 0; i < slow; i++) {
		const struct slow_request *q = &requests->chosen.items[i];
		const size_t block = requests_block(requests, q->intended);

		in.slow[i] = (struct divided){
			.latency = q->latency, .block = (uint32_t)block,
			.excess = i < requests->targets ?
				  &c->targets.items[i] : &c->near.items[i - requests->targets],
		};
		in.rest[block]--;
	}
	err = without_find(&c->without, &in);
	free(in.slow);
	return err;
}

int request_causes_find(struct request_causes **out, struct requests *requests,
			const struct recorded *server)
{
	const size_t slow = requests->targets + requests->near;
	struct request_causes *c;
	int err;

	*out = NULL;
	if (!server->cores || !requests->targets || requests->chosen.len < slow + REFERENCE_MIN)
		return 0;
	c = *out = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	vec_init(&c->targets, slow + 1);
	vec_init(&c->near, slow + 1);
	c->n = requests->chosen.len;
	c->breakdowns = calloc(c->n, sizeof(*c->breakdowns));
	err = c->breakdowns ? request_causes_divide(c, requests, server) : -ENOMEM;
	if (!err)
		err = request_causes_compare(c, requests, server);
	return err ?: request_causes_without(c, requests, server);
}

void request_causes_free(struct request_causes *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->breakdowns && i < c->n; i++)
		breakdown_release(&c->breakdowns[i]);
	free(c->breakdowns);
	vec_release(&c->targets);
	vec_release(&c->near);
	free(c->without);
	free(c);
}
