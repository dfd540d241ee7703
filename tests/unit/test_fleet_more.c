/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant problems of a fleet: the resource behind them is reported, and none of those around,
 * inside or beside it. Each gate lets its case pass and stops its twin.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "fleet/analyses.h"
#include "fleet_toy.h"

#define NONE FLEET_NONE
#define CLASS FLEET_TIMEOUT

static const struct fleet_options options = { .alpha = 0.05, .seed = 1 };

static void run(void)
{
	assert_int_equal(fleet_more(toy.f, &options, &toy.result), 0);
}

/* Returns the usual share, or ten times as much. */
static double share_if(bool bad)
{
	return bad ? 0.2 : 0.02;
}

/* Adds racks with so many hosts of six connections, of two applications; bad: a test of a place. */
static void add_racks(uint32_t racks, uint32_t hosts, bool (*bad)(uint32_t rack, uint32_t host))
{
	for (uint32_t rack = 0; rack < racks; rack++)
		for (uint32_t host = 0; host < hosts; host++)
			for (uint32_t i = 0; i < 6; i++)
				toy_add(&toy, &(struct toy_conn){ rack * hosts + host, rack, i % 2,
								  NONE, NONE },
					CLASS, share_if(bad(rack, host)));
}

static bool in_rack_3(uint32_t rack, uint32_t host)
{
	(void)host;
	return rack == 3;
}

static bool in_host_3_1(uint32_t rack, uint32_t host)
{
	return rack == 3 && host == 1;
}

static bool in_half_of_rack_3(uint32_t rack, uint32_t host)
{
	return rack == 3 && host < 2;
}

static bool nowhere(uint32_t rack, uint32_t host)
{
	(void)rack;
	(void)host;
	return false;
}

static void bad_rack_is_told_with_its_figures(void **state)
{
	const struct fleet_finding *finding;

	(void)state;
	add_racks(8, 4, in_rack_3);
	run();
	finding = toy_only(&toy, FLEET_MORE, FLEET_RACK, 3);
	assert_non_null(finding);
	assert_int_equal(finding->class, CLASS);
	assert_int_equal(finding->hosts, 4);
	assert_int_equal(finding->connections, 24);
	assert_int_equal(finding->affected, 24);
	assert_int_equal(finding->defined, 0); /* constant */
	assert_true(fabs(finding->share - 0.2) < 0.03);
	assert_true(fabs(finding->share_others - 0.02) < 0.003);
	assert_true(isnan(finding->rho) && finding->z > 3);
	/* 1 of C(32, 4) = 35960, 8 racks, 3 kinds (host, rack, application), 3 of evidence */
	assert_true(fabs(finding->p - 8.0 * 3 * 3 / 35960) < 1e-6);
	/* 24 connections lose 0.2 of 600 s, others 0.02 */
	assert_true(fabs((double)finding->lost_ns / 1e9 - 2880) < 300);
	assert_true(fabs((double)finding->excess_ns / 1e9 - 2592) < 300);
	assert_true(finding->from_ns == TOY_START &&
		    finding->to_ns == TOY_START + TOY_STEP * TOY_INTERVALS);
	assert_int_equal(finding->within, FLEET_NONE);
	assert_int_equal(finding->n, 24);
	for (uint32_t i = 1; i < finding->n; i++)
		assert_true(toy.result.members.items[i].score <=
			    toy.result.members.items[i - 1].score);
	assert_int_equal(toy.result.tested, 8 + 32); /* an outlier of two applications: too few */
	assert_int_equal(toy.result.too_few, 2);
}

static void bad_host_is_not_its_rack(void **state)
{
	(void)state;
	add_racks(8, 4, in_host_3_1);
	run();
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_HOST, 13));
}

/* In a rack of two hosts, one of which is bad, the rack's mean is five times that of others. */
static void bad_host_of_two_is_not_its_rack(void **state)
{
	(void)state;
	for (uint32_t rack = 0; rack < 12; rack++)
		for (uint32_t i = 0; i < 12; i++)
			toy_add(&toy, &(struct toy_conn){ rack * 2 + i % 2, rack, 0, NONE, NONE },
				CLASS, share_if(rack == 3 && i % 2));
	run();
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_HOST, 7));
}

static void two_of_four_hosts_are_no_rack(void **state)
{
	(void)state;
	add_racks(8, 4, in_half_of_rack_3);
	run();
	assert_int_equal(toy.result.findings.len, 2);
	vec_for_each(&toy.result.findings, finding)
		assert_int_equal(toy.f->resources.items[finding->resource].kind, FLEET_HOST);
}

static void nothing_is_told_of_equals(void **state)
{
	(void)state;
	add_racks(8, 4, nowhere);
	run();
	assert_int_equal(toy.result.findings.len, 0);
}

/* Two racks of two hosts: 1 of C(4, 2) is the least p that any rack can have. */
static void few_hosts_are_too_few(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 4; host++)
		for (uint32_t i = 0; i < 6; i++)
			toy_add(&toy, &(struct toy_conn){ host, host / 2, 0, NONE, NONE }, CLASS,
				share_if(host < 2));
	run();
	assert_int_equal(toy.result.findings.len, 0);
	assert_int_equal(toy.result.too_few, 3); /* the racks and the application */
}

/*
 * Rack 0 has mostly application 0, which has ten times the problems everywhere: the rack has four
 * times as many as the others, and within each application as many as they (Simpson).
 */
static void mix_of_applications_makes_no_rack_guilty(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 32; host++)
		for (uint32_t i = 0; i < 10; i++) {
			const uint32_t rack = host / 4, app = i < (rack ? 2 : 9) ? 0 : 1 + i % 3;

			toy_add(&toy, &(struct toy_conn){ host, rack, app, NONE, NONE }, CLASS,
				share_if(!app));
		}
	run();
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_APP, 0));
}

/*
 * The same with applications that differ, though none is an outlier: rack 0 has mostly the one with
 * the largest share, and three times the problems of other racks.
 */
static void usual_mix_makes_no_rack_guilty(void **state)
{
	static const double shares[] = { 0.01, 0.02, 0.012, 0.06, 0.03, 0.015 };

	(void)state;
	for (uint32_t host = 0; host < 32; host++)
		for (uint32_t i = 0; i < 12; i++) {
			const uint32_t app = host < 4 && i < 10 ? 3 : i % 6;

			toy_add(&toy, &(struct toy_conn){ host, host / 4, app, NONE, NONE }, CLASS,
				shares[app]);
		}
	run();
	assert_int_equal(toy.result.findings.len, 0);
}

/* Adds 10 racks of 4 hosts, each with three of 6 applications that span the racks. */
static void add_crossed(bool bad_rack, bool bad_app)
{
	for (uint32_t host = 0; host < 40; host++)
		for (uint32_t i = 0; i < 12; i++) {
			const struct toy_conn conn = { host, host / 4, (host + i % 3) % 6, NONE,
						       NONE };

			toy_add(&toy, &conn, CLASS, share_if(bad_rack && conn.rack == 2) *
				(bad_app && conn.app == 4 ? 10 : 1));
		}
	run();
}

static void bad_rack_makes_no_application_guilty(void **state)
{
	(void)state;
	add_crossed(true, false);
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_RACK, 2));
}

static void bad_application_makes_no_rack_guilty(void **state)
{
	(void)state;
	add_crossed(false, true);
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_APP, 4));
}

static void bad_rack_and_bad_application_are_both_told(void **state)
{
	bool rack = false, app = false;

	(void)state;
	add_crossed(true, true);
	assert_int_equal(toy.result.findings.len, 2);
	vec_for_each(&toy.result.findings, finding) {
		rack |= finding->resource == toy_resource(&toy, FLEET_RACK, 2);
		app |= finding->resource == toy_resource(&toy, FLEET_APP, 4);
	}
	assert_true(rack && app);
}

/* An application that runs on the bad rack only is as bad as its neighbours there: not guilty. */
static void application_of_a_bad_rack_is_not_guilty(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 32; host++)
		for (uint32_t i = 0; i < 12; i++) {
			const uint32_t rack = host / 4, app = rack == 3 && i < 4 ? 9 : i % 5;

			toy_add(&toy, &(struct toy_conn){ host, rack, app, NONE, NONE }, CLASS,
				share_if(rack == 3));
		}
	run();
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_RACK, 3));
}

/* Each host uses the four uplinks of its rack, one of which loses packets. */
static void bad_link_is_told_from_its_rack(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 32; host++)
		for (uint32_t i = 0; i < 16; i++) {
			const uint32_t link = host / 4 * 4 + i % 4;

			toy_add(&toy, &(struct toy_conn){ host, host / 4, i / 4 % 2, link, NONE },
				CLASS, share_if(link == 9));
		}
	run();
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_LINK, 9));
}

/* Three applications use each of five services from all hosts. */
static void bad_service_is_told_from_applications(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 20; host++)
		for (uint32_t i = 0; i < 30; i++)
			toy_add(&toy, &(struct toy_conn){ host, host / 4, i % 3, NONE, i / 3 % 5 },
				CLASS, share_if(i / 3 % 5 == 2));
	run();
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_SERVICE, 2));
}

/* Applications whose shares are far from each other: the largest is no outlier. */
static void applications_may_differ(void **state)
{
	static const double shares[] = { 0.01, 0.03, 0.015, 0.06, 0.04, 0.02 };

	(void)state;
	for (uint32_t host = 0; host < 20; host++)
		for (uint32_t i = 0; i < 12; i++)
			toy_add(&toy, &(struct toy_conn){ host, host / 4, i % 6, NONE, NONE },
				CLASS, shares[i % 6]);
	run();
	assert_int_equal(toy.result.findings.len, 0);
}

/* One connection with all of a host's problems is not the host. */
static void bad_connection_is_no_host(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 32; host++)
		for (uint32_t i = 0; i < 12; i++)
			toy_add(&toy, &(struct toy_conn){ host, host / 4, i % 3, NONE, NONE },
				CLASS, host == 5 && !i ? 0.9 : 0.01);
	run();
	assert_int_equal(toy.result.findings.len, 0);
}

/* Returns how much is reported if rack 3 has `times` the share of the others. */
static size_t findings_of(double times, double waiting)
{
	toy_release(&toy);
	toy_init(&toy);
	toy.waiting = waiting;
	for (uint32_t host = 0; host < 32; host++)
		for (uint32_t i = 0; i < 8; i++)
			toy_add(&toy, &(struct toy_conn){ host, host / 4, i % 3, NONE, NONE },
				CLASS, host / 4 == 3 ? 0.05 * times : 0.05);
	run();
	return toy.result.findings.len;
}

static void less_than_twice_is_not_told(void **state)
{
	(void)state;
	assert_int_equal(findings_of(1.7, 1), 0);
	assert_int_equal(findings_of(2.5, 1), 1);
}

/*
 * An hour's window may have an excess of 1 s, these 600 s one of 167 ms. 32 connections have the
 * problem for 0.075 of 600 s more: 1440 s.
 */
static void little_lost_time_is_not_told(void **state)
{
	(void)state;
	assert_int_equal(findings_of(2.5, 0.09 / 1440), 0);
	assert_int_equal(findings_of(2.5, 0.25 / 1440), 1);
}

/* Applications that have no data to send are no problem. */
static void idle_applications_are_no_problem(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 32; host++)
		for (uint32_t i = 0; i < 8; i++)
			toy_add(&toy, &(struct toy_conn){ host, host / 4, i % 3, NONE, NONE },
				FLEET_SENDER_APP, share_if(host / 4 == 3));
	run();
	assert_int_equal(toy.result.findings.len, 0);
	assert_int_equal(toy.result.tested, 0);
}

/* Each connection is one of its remote host, too, and must not stand beside itself as an other. */
static void bad_host_is_told_from_its_peers(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < 6; host++)
		for (uint32_t remote = 0; remote < 6; remote++)
			for (uint32_t i = 0; i < 4 && host != remote; i++)
				toy_read(&toy, toy_connect_hosts(&toy, host, remote), 0,
					 TOY_INTERVALS, CLASS,
					 !host && remote < 5 && i < 2 ? 0.5 : 0);
	run();
	assert_non_null(toy_only(&toy, FLEET_MORE, FLEET_HOST, 0));
}

static void empty_fleets_are_quiet(void **state)
{
	(void)state;
	run();
	toy_connect(&toy, &(struct toy_conn){ 0, 0, 0, NONE, NONE });
	run();
	toy_add(&toy, &(struct toy_conn){ 1, 0, NONE, NONE, NONE }, CLASS, 0.5);
	run();
	assert_int_equal(toy.result.findings.len, 0);
	assert_int_equal(toy.result.tested, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, toy_begin, toy_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(bad_rack_is_told_with_its_figures),
		CASE(bad_host_is_not_its_rack),
		CASE(bad_host_of_two_is_not_its_rack),
		CASE(two_of_four_hosts_are_no_rack),
		CASE(nothing_is_told_of_equals),
		CASE(few_hosts_are_too_few),
		CASE(mix_of_applications_makes_no_rack_guilty),
		CASE(usual_mix_makes_no_rack_guilty),
		CASE(bad_rack_makes_no_application_guilty),
		CASE(bad_application_makes_no_rack_guilty),
		CASE(bad_rack_and_bad_application_are_both_told),
		CASE(application_of_a_bad_rack_is_not_guilty),
		CASE(bad_link_is_told_from_its_rack),
		CASE(bad_service_is_told_from_applications),
		CASE(applications_may_differ),
		CASE(bad_connection_is_no_host),
		CASE(less_than_twice_is_not_told),
		CASE(little_lost_time_is_not_told),
		CASE(idle_applications_are_no_problem),
		CASE(bad_host_is_told_from_its_peers),
		CASE(empty_fleets_are_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
