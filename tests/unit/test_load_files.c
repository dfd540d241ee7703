/* SPDX-License-Identifier: Apache-2.0 */
/* --samples: each request with the addresses of its connection, as far as those are kept. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "cmd/load_files.h"
#include "event/memsource.h"

static void take_flow(struct load_files *files, struct event_memsource *queue, uint32_t agent,
		      uint32_t number)
{
	struct event_flow flow = { .id = LOAD_FLOW(agent, number), .family = AF_INET };
	struct event_block block;

	flow.local_port = (uint16_t)(agent + 1);
	flow.remote_port = (uint16_t)(number % 1000);
	assert_int_equal(event_put(event_memsource_sink(queue), EV_FLOW, 1, &flow, sizeof(flow)),
			 0);
	while (event_source_next(event_memsource_source(queue), &block) > 0)
		assert_int_equal(load_files_add(files, &block), 0);
}

/* The line of a request over this connection. */
static const char *line_of(struct load_files *files, uint32_t agent, uint32_t number)
{
	const struct event_sample sample = {
		.intended = 1, .sent = 2, .done = 3, .flow = LOAD_FLOW(agent, number),
	};
	const struct event_block block = {
		.kind = EV_SAMPLE, .count = 1, .record_size = sizeof(sample),
		.size = sizeof(sample), .data = &sample,
	};

	strbuf_reset(&files->samples.text);
	assert_int_equal(load_files_add(files, &block), 0);
	return strbuf_str(&files->samples.text);
}

static void test_addresses(void **state)
{
	struct event_memsource *queue;
	struct load_files files;

	(void)state;
	assert_int_equal(event_memsource_new(&queue, 1 << 20), 0);
	assert_int_equal(load_files_open(&files, "/dev/null", NULL, NULL), 0);
	take_flow(&files, queue, 0, 7);
	take_flow(&files, queue, 63, 900);
	assert_non_null(strstr(line_of(&files, 0, 7), ",0.0.0.0:1,0.0.0.0:7,"));
	assert_non_null(strstr(line_of(&files, 63, 900), ",0.0.0.0:64,0.0.0.0:900,"));
	assert_null(strstr(line_of(&files, 0, 8), "0.0.0.0"));
	assert_int_equal(files.csv.unaddressed, 0); /* that was never told */
	load_files_release(&files);
	event_memsource_free(queue);
}

/* The largest numbers take no more room than announced, and are counted. */
static void test_numbers_are_bounded(void **state)
{
	struct event_memsource *queue;
	struct load_files files;
	size_t places = 0;

	(void)state;
	assert_int_equal(event_memsource_new(&queue, 1 << 20), 0);
	assert_int_equal(load_files_open(&files, "/dev/null", NULL, NULL), 0);
	take_flow(&files, queue, 0, 500);
	for (uint32_t agent = 0; agent < LOAD_AGENTS_MAX; agent++)
		take_flow(&files, queue, agent, LOAD_FLOWS_MAX / 8);
	take_flow(&files, queue, 1, (1U << 26) - 1);
	take_flow(&files, queue, 0, 501);
	for (int i = 0; i < LOAD_AGENTS_MAX; i++)
		places += files.csv.flows[i].len;
	assert_in_range(places, LOAD_FLOWS_MAX / 2, LOAD_FLOWS_MAX);
	assert_null(strstr(line_of(&files, 1, (1U << 26) - 1), "0.0.0.0"));
	assert_null(strstr(line_of(&files, 63, LOAD_FLOWS_MAX / 8), "0.0.0.0"));
	assert_int_equal(files.csv.unaddressed, 2);
	assert_non_null(strstr(line_of(&files, 0, 501), ",0.0.0.0:1,0.0.0.0:501,"));
	assert_int_equal(files.csv.unaddressed, 2);
	load_files_release(&files);
	event_memsource_free(queue);
}

static uint64_t counted(struct load_files *files, uint16_t flags)
{
	const struct event_sample sample = { .intended = 1, .sent = 2, .done = 3, .flags = flags };
	const struct event_block block = {
		.kind = EV_SAMPLE, .count = 1, .record_size = sizeof(sample),
		.size = sizeof(sample), .data = &sample,
	};

	assert_int_equal(load_files_add(files, &block), 0);
	return files->hdr.count;
}

/* With latency agents, only their samples are latencies. */
static void test_only_probes_are_latencies(void **state)
{
	struct event_memsource *queue;
	struct event_block block;
	struct load_files files;

	(void)state;
	assert_int_equal(event_memsource_new(&queue, 1 << 20), 0);
	assert_int_equal(load_files_open(&files, NULL, "/dev/null", NULL), 0);
	assert_int_equal(counted(&files, 0), 1);
	assert_int_equal(event_put_fact(event_memsource_sink(queue), 1, "load.probes", "2"), 0);
	while (event_source_next(event_memsource_source(queue), &block) > 0)
		assert_int_equal(load_files_add(&files, &block), 0);
	assert_int_equal(counted(&files, 0), 1);
	assert_int_equal(counted(&files, SAMPLE_PROBE), 2);
	load_files_release(&files);
	event_memsource_free(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_numbers_are_bounded),
		cmocka_unit_test(test_only_probes_are_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
