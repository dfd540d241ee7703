/* SPDX-License-Identifier: Apache-2.0 */
/* Throttled control groups, as a tree of files tells of them. */
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

#include "host/throttled.h"

static char folder[64], proc[80];
static const struct host_root machine = { .proc = proc, .sys = "", .run = "", .boot = "" };

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", folder, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void put_folder(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", folder, path);
	assert_int_equal(mkdir(full, 0700), 0);
}

static void put_mounts(const char *second)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "40 31 0:8 / %s/cpuset rw - cgroup cgroup rw,cpuset\n"
		 "41 31 0:9 / %s/both rw shared:8 - cgroup2 cgroup2 rw,nsdelegate\n"
		 "42 31 0:10 / %s/cpu rw - cgroup cgroup rw,%s\n",
		 folder, folder, folder, second);
	put("self/mountinfo", text);
}

static int make(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/hostlat-throttled-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(proc, sizeof(proc), "%s", folder);
	put_folder("self");
	put_folder("both");
	put_folder("both/a");
	put_folder("both/a/b");
	put_folder("cpu");
	put_folder("cpu/c");
	put("both/cpu.stat", "usage_usec 7\n"); /* the root tells of no quota */
	put("both/a/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 3\nthrottled_usec 99\n");
	put("both/a/b/cpu.stat", "nr_periods 9\nnr_throttled 40\n");
	put("cpu/c/cpu.stat", "nr_periods 9\nnr_throttled 500\nthrottled_time 99\n");
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int unmake(void **state)
{
	(void)state;
	return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_sum(void **state)
{
	uint64_t times;

	(void)state;
	put_mounts("cpu,cpuacct");
	assert_int_equal(host_throttled(&machine, &times), 0);
	assert_int_equal(times, 543);
	put_mounts("cpuacct"); /* "cpu" must be an option, not the begin of one */
	assert_int_equal(host_throttled(&machine, &times), 0);
	assert_int_equal(times, 43);
	put("self/mountinfo", "");
	assert_int_equal(host_throttled(&machine, &times), 0);
	assert_int_equal(times, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sum),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
