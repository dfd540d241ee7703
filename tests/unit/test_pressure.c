/* SPDX-License-Identifier: Apache-2.0 */
/* CPU pressure and load of the whole host, from a tree of files. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/pressure.h"

static char folder[64];
static const struct host_root machine = { .proc = folder, .sys = "", .run = "", .boot = "" };

static const char *full(const char *path)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s/%s", folder, path);
	return text;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(full(path), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make(void **state)
{
	static const char *const folders[] = { "pressure", "self", "self/net" };

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/hostlat-pressure-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (mkdir(full(folders[i]), 0700))
			return -1;
	return 0;
}

static int forget(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int drop(void **state)
{
	(void)state;
	return nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
}

static struct host_pressure seen(void)
{
	struct host_pressure p;

	host_pressure_read(&machine, &p);
	return p;
}

static struct host_pressure since(struct host_pressure before, struct host_pressure now)
{
	struct host_pressure gain;

	host_pressure_since(&before, &now, &gain);
	return gain;
}

/* Neither idle (1000) nor iowait (50), nor guests (9, 9), which are in user and nice. */
static void counters(void **state)
{
	const uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct host_pressure p;

	(void)state;
	put("stat", "cpu  1 2 4 1000 50 8 16 32 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
	put("pressure/cpu", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1234567\n"
			    "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
	put("self/net/softnet_stat", "00000010 00000001\n0000000f 00000002\n");
	p = seen();
	assert_true(p.busy_known && p.stall_known);
	assert_int_equal(p.busy_ns, 63 * tick);
	assert_int_equal(p.stall_ns, 1234567000);
	assert_int_equal(p.packets, 31);
	assert_int_equal(p.packets_cpus, 2);
}

static void unknown(void **state)
{
	struct host_pressure p;

	(void)state;
	p = seen();
	assert_false(p.busy_known || p.stall_known || p.packets_cpus);
	put("stat", "cpu  1 2 3\n");
	put("pressure/cpu", "");
	put("self/net/softnet_stat", "\n");
	p = seen();
	assert_false(p.busy_known || p.stall_known || p.packets_cpus);
}

static void gains(void **state)
{
	const struct host_pressure before = { true, true, 100, 200, UINT32_MAX - 4, 2 };
	struct host_pressure now = { true, true, 130, 200, 7, 2 }, gain = since(before, now);

	(void)state;
	assert_true(gain.busy_known && gain.stall_known);
	assert_int_equal(gain.busy_ns, 30);
	assert_int_equal(gain.stall_ns, 0); /* known, and none */
	assert_int_equal(gain.packets, 12);
	assert_int_equal(gain.packets_cpus, 2);
	now.packets_cpus = 3; /* one came: its packets of all time, too */
	now.busy_ns = 99;
	now.stall_known = false;
	gain = since(before, now);
	assert_false(gain.busy_known || gain.stall_known || gain.packets_cpus);
	assert_int_equal(gain.busy_ns, 0);
	gain = since((struct host_pressure){ 0 }, now);
	assert_false(gain.busy_known || gain.stall_known || gain.packets_cpus);
}

/* This kernel's. */
static void live(void **state)
{
	struct host_pressure p;

	(void)state;
	host_pressure_read(NULL, &p);
	assert_true(p.busy_known);
	assert_true(p.busy_ns > 0);
	assert_int_equal(p.stall_known, !access("/proc/pressure/cpu", R_OK));
	assert_int_equal(p.packets_cpus > 0, !access("/proc/self/net/softnet_stat", R_OK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counters, make, drop),
		cmocka_unit_test_setup_teardown(unknown, make, drop),
		cmocka_unit_test(gains),
		cmocka_unit_test(live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
