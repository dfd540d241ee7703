/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of ClickHouse, and the SQL for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/bug.h"
#include "store/clickhouse_sql.h"

#define TEXT_MAX 65536u

static void parse(const char *text, struct clickhouse_address *out)
{
	struct strbuf why = STRBUF_INIT(TEXT_MAX);

	assert_int_equal(clickhouse_address_parse(text, out, &why), 0);
	assert_string_equal(strbuf_str(&why), "");
	strbuf_release(&why);
}

static void refuses(const char *text, const char *words)
{
	struct strbuf why = STRBUF_INIT(TEXT_MAX);
	struct clickhouse_address address;

	assert_int_equal(clickhouse_address_parse(text, &address, &why), -EINVAL);
	assert_non_null(strstr(strbuf_str(&why), words));
	strbuf_release(&why);
}

static void test_addresses(void **state)
{
	struct clickhouse_address a;

	(void)state;
	parse("clickhouse://db1/fleet", &a);
	assert_false(a.tls);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.server[0], "db1:8123");
	assert_string_equal(a.database, "fleet");
	assert_string_equal(a.cluster, "");
	parse("clickhouse+tls://db-1.example.com,10.0.0.2:443,[2001:db8::1],[::1]:65535/_F9"
	      "?cluster=c_1", &a);
	assert_true(a.tls);
	assert_int_equal(a.n, 4);
	assert_string_equal(a.server[0], "db-1.example.com:8443");
	assert_string_equal(a.server[1], "10.0.0.2:443");
	assert_string_equal(a.server[2], "[2001:db8::1]:8443");
	assert_string_equal(a.server[3], "[::1]:65535");
	assert_string_equal(a.database, "_F9");
	assert_string_equal(a.cluster, "c_1");
}

static void test_addresses_that_are_none(void **state)
{
	(void)state;
	refuses("clickhouse://", "has no database");
	refuses("clickhouse://db1", "has no database");
	refuses("clickhouse://db1?cluster=a/b", "has no database");
	refuses("clickhouse:///fleet", "is no server");
	refuses("clickhouse://db1,/fleet?cluster=a", "is no server");
	refuses("clickhouse://db1:/fleet", "is no server");
	refuses("clickhouse://db1:0/fleet", "is no server");
	refuses("clickhouse://db1:65536/fleet", "is no server");
	refuses("clickhouse://db1:8123x/fleet", "is no server");
	refuses("clickhouse://-db1/fleet", "is no server");
	refuses("clickhouse://db1#x/fleet", "is no server");
	refuses("clickhouse://::1/fleet", "is no server");
	refuses("clickhouse://[::1/fleet", "is no server");
	refuses("clickhouse://[::1]8123/fleet", "is no server");
	refuses("clickhouse://[db1]/fleet", "is no server");
	refuses("clickhouse://user:secret@db1/fleet", "HOSTLAT_STORE_USER");
	refuses("clickhouse://db1/", "is no name of a database");
	refuses("clickhouse://db1/9a", "is no name of a database");
	refuses("clickhouse://db1/a`b", "is no name of a database");
	refuses("clickhouse://db1/a/b", "is no name of a database");
	refuses("clickhouse://db1/a?x=1", "'?x=1' is no option");
	refuses("clickhouse://db1/a?cluster=", "is no name of a cluster");
	refuses("clickhouse://db1/a?cluster=a&b=c", "is no name of a cluster");
	refuses("clickhouse://db1,db2/a", "?cluster=NAME");
}

static void test_longest_addresses(void **state)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);
	struct clickhouse_address a;

	(void)state;
	strbuf_puts(&text, "clickhouse://");
	for (unsigned int i = 0; i < CLICKHOUSE_SERVERS_MAX; i++) {
		strbuf_puts(&text, i ? "," : "");
		strbuf_fill(&text, 'h', 255);
		strbuf_puts(&text, ":65535");
	}
	strbuf_puts(&text, "/");
	strbuf_fill(&text, 'd', CLICKHOUSE_NAME_MAX - 1);
	strbuf_puts(&text, "?cluster=");
	strbuf_fill(&text, 'c', CLICKHOUSE_NAME_MAX - 1);
	parse(strbuf_str(&text), &a);
	assert_int_equal(strlen(a.server[CLICKHOUSE_SERVERS_MAX - 1]), 261);
	strbuf_puts(&text, "c");
	refuses(strbuf_str(&text), "is no name of a cluster");
	strbuf_reset(&text);
	strbuf_puts(&text, "clickhouse://");
	strbuf_fill(&text, 'h', 256);
	strbuf_puts(&text, "/d");
	refuses(strbuf_str(&text), "is no server");
	strbuf_reset(&text);
	strbuf_puts(&text, "clickhouse://");
	for (unsigned int i = 0; i <= CLICKHOUSE_SERVERS_MAX; i++)
		strbuf_puts(&text, "h,");
	strbuf_puts(&text, "h/d?cluster=c");
	refuses(strbuf_str(&text), "at most 64 servers");
	strbuf_release(&text);
}

/* ---- SQL ---- */

static const struct store_column columns[] = {
	{ "host", STORE_TEXT, 0, "" }, { "window_ns", STORE_U64, 0, "" }, { "x", STORE_U64, 0, "" },
};
static const struct store_table table = { .name = "t", .columns = columns, .n = 3, .keys = 2 };

static void is_sql(struct strbuf *sql, const char *expected)
{
	assert_string_equal(strbuf_str(sql), expected);
	strbuf_reset(sql);
}

static void test_hosts_in_sql(void **state)
{
	struct strbuf sql = STRBUF_INIT(TEXT_MAX);
	struct store_query query = { .table = &table, .from_ns = 1, .to_ns = UINT64_MAX };
	struct clickhouse_address a;

	(void)state;
	parse("clickhouse://db1/f", &a);
	clickhouse_sql_select(&a, &query, &sql);
	is_sql(&sql, "SELECT host, window_ns, x FROM f.t WHERE window_ns >= 1 AND window_ns < "
		     "18446744073709551615 ORDER BY host, window_ns FORMAT RowBinary");
	query.first_host = "'; DROP TABLE t; --\\";
	query.last_host = "\\'\n";
	clickhouse_sql_hosts(&a, &query, &sql);
	is_sql(&sql, "SELECT host, count() AS n FROM f.t WHERE window_ns >= 1 AND window_ns < "
		     "18446744073709551615 AND host >= '\\'; DROP TABLE t; --\\\\' AND host <= "
		     "'\\\\\\'\n' GROUP BY host ORDER BY host FORMAT RowBinary");
	clickhouse_sql_insert(&a, &table, &sql);
	is_sql(&sql, "INSERT INTO f.t (host, window_ns, x) FORMAT RowBinary");
	strbuf_release(&sql);
}

static void test_tables_in_sql(void **state)
{
	struct strbuf sql = STRBUF_INIT(TEXT_MAX);
	struct clickhouse_address a;

	(void)state;
	parse("clickhouse://db1/f", &a);
	clickhouse_sql_table(&a, &table, 0, &sql);
	is_sql(&sql, "CREATE TABLE IF NOT EXISTS f.t (host String, window_ns UInt64, x UInt64) "
		     "ENGINE = MergeTree PARTITION BY intDiv(window_ns, 86400000000000) "
		     "ORDER BY (host, window_ns)");
	clickhouse_sql_table(&a, &table, 1, &sql);
	is_sql(&sql, "");
	parse("clickhouse://db1/f?cluster=c", &a);
	clickhouse_sql_table(&a, &table, 1, &sql);
	is_sql(&sql, "CREATE TABLE IF NOT EXISTS f.t (host String, window_ns UInt64, x UInt64) "
		     "ENGINE = Distributed(c, f, t_local, cityHash64(host))");
	clickhouse_sql_schema(&a, 1, &sql);
	is_sql(&sql, "CREATE VIEW IF NOT EXISTS f.hostlat_schema_local AS SELECT "
		     "toUInt64(" LITERAL(STORE_SCHEMA) ") AS version");
	clickhouse_sql_local(&a, "t", &sql);
	is_sql(&sql, "f.t_local");
	strbuf_release(&sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_addresses_that_are_none),
		cmocka_unit_test(test_longest_addresses),
		cmocka_unit_test(test_hosts_in_sql),
		cmocka_unit_test(test_tables_in_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
