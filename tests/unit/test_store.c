/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a SQLite file: rows, their order and versions, and files that are none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"

#define HOUR 3600000000000u

struct rig {
	char folder[64], path[128];
	struct store *store;
	struct strbuf why;
	/* -- rows that a query gave, as text -- */
	struct strbuf seen;
};

static void rig_open(struct rig *rig)
{
	assert_int_equal(store_open(rig->path, STORE_WRITE, &rig->store, &rig->why), 0);
}

static int rig_setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	strbuf_init(&rig->why, 4096);
	strbuf_init(&rig->seen, 1 << 20);
	snprintf(rig->folder, sizeof(rig->folder), "/tmp/hostlat-store-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	snprintf(rig->path, sizeof(rig->path), "%s/a?b#c%%.db", rig->folder);
	assert_int_equal(store_init(rig->path, false, &rig->why), 0);
	rig_open(rig);
	*state = rig;
	return 0;
}

static int rig_teardown(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	struct rig *rig = *state;

	store_close(rig->store);
	for (size_t i = 0; i < 3; i++) {
		char path[160];

		snprintf(path, sizeof(path), "%s%s", rig->path, ends[i]);
		unlink(path);
	}
	rmdir(rig->folder);
	strbuf_release(&rig->why);
	strbuf_release(&rig->seen);
	free(rig);
	return 0;
}

static struct store_connection row_of(const char *host, uint64_t window, uint64_t cookie,
				      uint64_t version)
{
	const struct store_shares none = { .series = "" };

	return (struct store_connection){
		.host = host, .recording_ns = 5, .window_ns = window, .netns = 1, .cookie = cookie,
		.version = version, .local = "", .remote = "", .application = "", .unit = "",
		.cgroup = "", .command = "", .send_buffer = none, .receiver_window = none,
		.delayed_ack = none, .fast_retransmit = none, .timeout = none, .sender_app = none,
	};
}

static struct store_window window_of(const char *host, uint64_t window, uint64_t version)
{
	return (struct store_window){
		.host = host, .recording_ns = 5, .window_ns = window, .version = version,
		.kernel = "", .product = "", .clock = "", .damage = "", .file = "", .addresses = "",
	};
}

static void put(struct rig *rig, const char *host, uint64_t window, uint64_t cookie,
		uint64_t version)
{
	const struct store_connection row = row_of(host, window, cookie, version);

	assert_int_equal(store_put(rig->store, &store_connections, &row), 0);
}

static void put_window(struct rig *rig, const char *host, uint64_t window, uint64_t version)
{
	const struct store_window row = window_of(host, window, version);

	assert_int_equal(store_put(rig->store, &store_windows, &row), 0);
}

static int take(void *ctx, const void *data)
{
	const struct store_connection *row = data;
	struct rig *rig = ctx;

	strbuf_printf(&rig->seen, "%s%s:%llu:%llu:v%llu", rig->seen.len ? " " : "", row->host,
		      (unsigned long long)(row->window_ns / HOUR), (unsigned long long)row->cookie,
		      (unsigned long long)row->version);
	return 0;
}

static void connections_are(struct rig *rig, const struct store_query *where, const char *said)
{
	struct store_query query = where ? *where : (struct store_query){ .to_ns = INT64_MAX };

	query.table = &store_connections;
	strbuf_reset(&rig->seen);
	assert_int_equal(store_select(rig->store, &query, take, rig), 0);
	assert_string_equal(strbuf_str(&rig->seen), said);
}

static void test_order_and_limits(void **state)
{
	struct rig *rig = *state;

	put(rig, "b", 0, 2, 1);
	put(rig, "b", 0, 1, 1);
	put(rig, "a", HOUR, 3, 1);
	put(rig, "a", 0, 10, 1);
	put(rig, "a", 0, 9, 1);
	put(rig, "B", 0, 1, 1);
	put(rig, "\xc3\xa4", 0, 1, 1);
	assert_int_equal(store_commit(rig->store), 0);
	connections_are(rig, NULL, "B:0:1:v1 a:0:9:v1 a:0:10:v1 a:1:3:v1 b:0:1:v1 b:0:2:v1 "
				   "\xc3\xa4:0:1:v1");
	connections_are(rig, &(struct store_query){ .from_ns = 1, .to_ns = HOUR + 1 }, "a:1:3:v1");
	connections_are(rig, &(struct store_query){ .to_ns = HOUR, .first_host = "a",
						    .last_host = "a" }, "a:0:9:v1 a:0:10:v1");
	connections_are(rig, &(struct store_query){ .to_ns = HOUR, .first_host = "aa" },
			"b:0:1:v1 b:0:2:v1 \xc3\xa4:0:1:v1");
}

static void test_twice_counts_once(void **state)
{
	struct rig *rig = *state;

	for (unsigned int i = 0; i < 3; i++) {
		put(rig, "a", 0, 1, 4);
		put(rig, "a", 0, 1, 4);
		put_window(rig, "a", 0, 4);
		assert_int_equal(store_commit(rig->store), 0);
	}
	connections_are(rig, NULL, "a:0:1:v4");
}

/* A later version of a window takes the place of the earlier ones; of this window alone. */
static void test_versions(void **state)
{
	struct rig *rig = *state;

	put(rig, "a", 0, 1, 1);
	put(rig, "a", HOUR, 1, 1);
	put_window(rig, "a", 0, 1);
	assert_int_equal(store_commit(rig->store), 0);
	put(rig, "a", 0, 2, 2);
	connections_are(rig, NULL, "a:0:1:v1 a:0:2:v2 a:1:1:v1");
	put_window(rig, "a", 0, 2);
	assert_int_equal(store_commit(rig->store), 0);
	connections_are(rig, NULL, "a:0:2:v2 a:1:1:v1");
	put(rig, "a", 0, 1, 1); /* by a process that read less, and was slower */
	put_window(rig, "a", 0, 1);
	assert_int_equal(store_commit(rig->store), 0);
	connections_are(rig, NULL, "a:0:2:v2 a:1:1:v1");
}

static void test_rows_of_no_commit_are_gone(void **state)
{
	struct rig *rig = *state;

	put(rig, "a", 0, 1, 1);
	assert_int_equal(store_commit(rig->store), 0);
	put(rig, "a", 0, 2, 1);
	store_close(rig->store);
	rig_open(rig);
	connections_are(rig, NULL, "a:0:1:v1");
}

static int take_equal(void *ctx, const void *data)
{
	const struct store_connection *row = data;
	const char *text = ctx;

	assert_string_equal(row->host, text);
	assert_string_equal(row->application, text);
	assert_string_equal(row->timeout.series, text);
	assert_int_equal(row->timeout.known_ns, INT64_MAX);
	return -ECANCELED;
}

static void test_texts_are_kept(void **state)
{
	static const char text[] = "'; DROP TABLE hostlat_windows; --\"\\\n\t\x1b[31m "
				   "\xff\xc3\xa4%s";
	struct rig *rig = *state;
	struct store_connection row = row_of(text, 0, 1, 1);
	const struct store_query query = { .table = &store_connections, .to_ns = INT64_MAX,
					   .first_host = text, .last_host = text };

	row.application = text;
	row.timeout = (struct store_shares){ .known_ns = INT64_MAX, .series = text };
	assert_int_equal(store_put(rig->store, &store_connections, &row), 0);
	assert_int_equal(store_commit(rig->store), 0);
	assert_int_equal(store_select(rig->store, &query, take_equal, (void *)text), -ECANCELED);
}

static void test_forget(void **state)
{
	struct rig *rig = *state;

	put(rig, "a", 0, 1, 1);
	put(rig, "a", HOUR, 1, 1);
	assert_int_equal(store_commit(rig->store), 0);
	assert_int_equal(store_forget(rig->store, HOUR), 0);
	connections_are(rig, NULL, "a:1:1:v1");
}

/* A second init leaves the rows alone. */
static void test_init_twice(void **state)
{
	struct rig *rig = *state;

	put(rig, "a", 0, 1, 1);
	assert_int_equal(store_commit(rig->store), 0);
	assert_int_equal(store_init(rig->path, false, &rig->why), 0);
	connections_are(rig, NULL, "a:0:1:v1");
}

static void opens_not(struct rig *rig, const char *path, int err, const char *why)
{
	struct store *store;

	strbuf_reset(&rig->why);
	assert_int_equal(store_open(path, STORE_WRITE, &store, &rig->why), err);
	assert_null(store);
	assert_non_null(strstr(strbuf_str(&rig->why), why));
}

static void test_no_stores(void **state)
{
	struct rig *rig = *state;
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/other", rig->folder);
	opens_not(rig, path, -ENOENT, "hostlat fleet init");
	file = fopen(path, "w");
	assert_non_null(file);
	for (unsigned int i = 0; i < 1000; i++)
		fputs("no database", file);
	fclose(file);
	opens_not(rig, path, -EINVAL, "no SQLite file");
	assert_int_equal(store_init(path, false, &rig->why), -EINVAL);
	assert_int_equal(truncate(path, 0), 0);
	opens_not(rig, path, -ENOENT, "no store");
	unlink(path);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_order_and_limits), TEST(test_twice_counts_once), TEST(test_versions),
		TEST(test_rows_of_no_commit_are_gone), TEST(test_texts_are_kept),
		TEST(test_forget), TEST(test_init_twice), TEST(test_no_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
