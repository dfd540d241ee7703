/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that a recorded connection shares with others. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/fleet_resources.h"
#include "fleet/state.h"

/* A connection of host web1, whose kernel is 6.1 and whose firmware calls it m5.large. */
struct rig {
	struct fleet_inputs in;
	struct fleet *f;
	struct fleet_identity conn;
};

static const char hosts[] = "host,rack,instance,addresses\nweb1,r1,,10.0.0.1\nweb2,r1,,10.0.0.2\n"
			    "db1,r2,c6.metal,10.0.1.0/24\n";

static void read_tables(struct rig *rig)
{
	static const char *const tables[] = { hosts, "from,to,link\nr1,r2,up\n" };
	static const char rules[] = "application,command,port\nshop,java,\ndb,,5432\n";
	struct strbuf why = STRBUF_INIT(4096);
	char *text;

	for (size_t i = 0; i < 2; i++) {
		text = strdup(tables[i]);
		assert_int_equal(topology_read(rig->in.topology, "t", text, strlen(text), &why), 0);
		free(text);
	}
	assert_int_equal(topology_finish(rig->in.topology, &why), 0);
	text = strdup(rules);
	assert_int_equal(apps_read(rig->in.apps, "a", text, strlen(text), &why), 0);
	free(text);
	strbuf_release(&why);
}

static void rig_init(struct rig *rig)
{
	const struct fleet_grid grid = { .start_ns = 1, .step_ns = 1, .intervals = 1 };
	struct fleet_recording web1 = { .product = "m5.large" };

	*rig = (struct rig){ .in.topology = topology_new(), .in.apps = apps_new(),
			     .f = fleet_new(&grid) };
	assert_true(rig->in.topology && rig->in.apps && rig->f);
	snprintf(web1.run.host, sizeof(web1.run.host), "web1");
	snprintf(web1.run.kernel, sizeof(web1.run.kernel), "6.1");
	vec_init(&rig->in.scan.recordings, 1);
	vec_init(&rig->in.scan.hosts, 4);
	addresses_init(&rig->in.scan.addresses);
	assert_int_equal(vec_push(&rig->in.scan.recordings, web1), 0);
	read_tables(rig);
	rig->conn = (struct fleet_identity){ .cookie = 7 };
}

static void rig_release(struct rig *rig)
{
	fleet_free(rig->f);
	fleet_scan_release(&rig->in.scan);
	topology_free(rig->in.topology);
	apps_free(rig->in.apps);
}

static void rig_flow(struct rig *rig, const char *local, uint16_t local_port, const char *remote,
		     uint16_t remote_port)
{
	struct event_flow *flow = &rig->conn.flow;

	*flow = (struct event_flow){ .id = 1, .family = AF_INET, .local_port = local_port,
				     .remote_port = remote_port };
	assert_int_equal(inet_pton(AF_INET, local, flow->local), 1);
	assert_int_equal(inet_pton(AF_INET, remote, flow->remote), 1);
}

static int order(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Adds the connection; checks its resources, "kind name", in the order of their texts. */
static void shares_are(struct rig *rig, const char *said)
{
	struct strbuf text = STRBUF_INIT(4096);
	const char *names[FLEET_SHARES_MAX];
	char room[FLEET_SHARES_MAX][256];
	const struct fleet_series *s;
	uint32_t index;

	assert_int_equal(fleet_resources_add(&rig->in, rig->f, rig->in.scan.recordings.items,
					     &rig->conn, &index), 0);
	s = &rig->f->all.items[index];
	for (uint32_t i = 0; i < s->n; i++) {
		const struct fleet_resource *r =
			&rig->f->resources.items[rig->f->shares.items[s->shares + i]];

		snprintf(room[i], sizeof(room[i]), "%s %s", fleet_kind_name(r->kind), r->name);
		names[i] = room[i];
	}
	qsort(names, s->n, sizeof(names[0]), order);
	for (uint32_t i = 0; i < s->n; i++)
		strbuf_printf(&text, "%s%s", i ? "; " : "", names[i]);
	assert_string_equal(strbuf_str(&text), said);
	assert_string_equal(rig->f->resources.items[s->host].name, "web1");
	strbuf_release(&text);
}

static void test_to_another_rack(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_flow(&rig, "10.0.0.1", 40000, "10.0.1.9", 3306);
	rig.conn.command = "nginx";
	rig.conn.unit = "web";
	shares_are(&rig, "application web; host db1; host web1; instance m5.large; kernel 6.1; "
			 "link up; rack r1; rack r2; service 10.0.1.9:3306");
	rig_release(&rig);
}

static void test_accepted_in_a_container(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_flow(&rig, "10.0.0.1", 443, "10.0.0.2", 50000);
	rig.conn.accepted = true;
	rig.conn.command = "nginx";
	rig.conn.unit = "docker 0123456789ab";
	shares_are(&rig, "application nginx; container docker 0123456789ab on web1; host web1; "
			 "host web2; instance m5.large; kernel 6.1; rack r1");
	rig_release(&rig);
}

static void test_rules_of_applications(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_flow(&rig, "10.0.0.1", 40000, "192.0.2.1", 5432);
	rig.conn.command = "java";
	rig.conn.unit = "web";
	shares_are(&rig, "application shop; host web1; instance m5.large; kernel 6.1; rack r1; "
			 "service 192.0.2.1:5432");
	rig.conn.command = "ruby";
	shares_are(&rig, "application db; host web1; instance m5.large; kernel 6.1; rack r1; "
			 "service 192.0.2.1:5432");
	rig_flow(&rig, "10.0.0.1", 5432, "192.0.2.1", 6000);
	rig.conn.accepted = true;
	shares_are(&rig, "application db; host web1; instance m5.large; kernel 6.1; rack r1");
	rig.conn.accepted = false;
	rig.conn.unit = "session-3";
	shares_are(&rig, "application ruby; host web1; instance m5.large; kernel 6.1; rack r1; "
			 "service 192.0.2.1:6000");
	rig_release(&rig);
}

/* Within a host, nothing of the network is shared, and 127.0.0.1 is another service on each. */
static void test_within_the_host(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_flow(&rig, "127.0.0.1", 40000, "127.0.0.1", 6379);
	shares_are(&rig, "host web1; instance m5.large; kernel 6.1; "
			 "service 127.0.0.1:6379 on web1");
	rig_release(&rig);
}

static void test_host_by_its_recording(void **state)
{
	struct fleet_address address;
	struct rig rig;
	uint32_t other;

	(void)state;
	rig_init(&rig);
	assert_int_equal(addresses_parse("192.0.2.7", &address), 0);
	assert_int_equal(addresses_add(&rig.in.scan.addresses, &address, 1, true, &other), 0);
	assert_int_equal(vec_push(&rig.in.scan.hosts, "web1"), 0);
	assert_int_equal(vec_push(&rig.in.scan.hosts, "lone"), 0);
	rig_flow(&rig, "10.0.0.1", 40000, "192.0.2.7", 80);
	rig.conn.accepted = true;
	shares_are(&rig, "host lone; host web1; instance m5.large; kernel 6.1; rack r1");
	rig_release(&rig);
}

static void test_without_a_flow(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	shares_are(&rig, "host web1; instance m5.large; kernel 6.1; rack r1");
	assert_string_equal(rig.f->all.items[0].name, "? > ?");
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_to_another_rack),
		cmocka_unit_test(test_accepted_in_a_container),
		cmocka_unit_test(test_rules_of_applications),
		cmocka_unit_test(test_within_the_host),
		cmocka_unit_test(test_host_by_its_recording),
		cmocka_unit_test(test_without_a_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
