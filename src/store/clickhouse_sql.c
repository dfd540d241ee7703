/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse_sql.h"

#include <inttypes.h>

#define LOCAL "_local"

static void sql_put_name(const struct clickhouse_address *address, const char *table,
			 struct strbuf *sql)
{
	strbuf_printf(sql, "%s.%s", address->database, table);
}

static const char *sql_suffix(const struct clickhouse_address *address)
{
	return address->cluster[0] ? LOCAL : "";
}

void clickhouse_sql_local(const struct clickhouse_address *address, const char *table,
			  struct strbuf *sql)
{
	sql_put_name(address, table, sql);
	strbuf_puts(sql, sql_suffix(address));
}

/* Appends a text as a literal: only its quotes and backslashes have a meaning to ClickHouse. */
static void sql_put_text(const char *text, struct strbuf *sql)
{
	strbuf_putc(sql, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			strbuf_putc(sql, '\\');
		strbuf_putc(sql, *text);
	}
	strbuf_putc(sql, '\'');
}

static void sql_put_columns(const struct store_table *table, unsigned int n, struct strbuf *sql)
{
	for (unsigned int i = 0; i < n; i++)
		strbuf_printf(sql, "%s%s", i ? ", " : "", table->columns[i].name);
}

static void sql_put_types(const struct store_table *table, struct strbuf *sql)
{
	for (unsigned int i = 0; i < table->n; i++)
		strbuf_printf(sql, "%s%s %s", i ? ", " : "", table->columns[i].name,
			      table->columns[i].type == STORE_U64 ? "UInt64" : "String");
}

/* Appends the engine of a table that stands for those of all shards. */
static void sql_put_distributed(const struct clickhouse_address *address, const char *table,
				const char *shard_by, struct strbuf *sql)
{
	strbuf_printf(sql, " ENGINE = Distributed(%s, %s, %s" LOCAL "%s%s)", address->cluster,
		      address->database, table, *shard_by ? ", " : "", shard_by);
}

void clickhouse_sql_schema(const struct clickhouse_address *address, unsigned int i,
			   struct strbuf *sql)
{
	if (i == 0) {
		strbuf_printf(sql, "CREATE DATABASE IF NOT EXISTS %s", address->database);
	} else if (i == 1) {
		strbuf_puts(sql, "CREATE VIEW IF NOT EXISTS ");
		clickhouse_sql_local(address, CLICKHOUSE_SCHEMA, sql);
		strbuf_printf(sql, " AS SELECT toUInt64(%d) AS version", STORE_SCHEMA);
	} else if (address->cluster[0]) {
		strbuf_puts(sql, "CREATE TABLE IF NOT EXISTS ");
		sql_put_name(address, CLICKHOUSE_SCHEMA, sql);
		strbuf_puts(sql, " (version UInt64)");
		sql_put_distributed(address, CLICKHOUSE_SCHEMA, "", sql);
	}
}

static void sql_put_own_table(const struct clickhouse_address *address,
			      const struct store_table *table, struct strbuf *sql)
{
	strbuf_puts(sql, "CREATE TABLE IF NOT EXISTS ");
	clickhouse_sql_local(address, table->name, sql);
	strbuf_puts(sql, " (");
	sql_put_types(table, sql);
	strbuf_printf(sql, ") ENGINE = MergeTree PARTITION BY intDiv(window_ns, %llu) ORDER BY (",
		      CLICKHOUSE_PARTITION_NS);
	sql_put_columns(table, table->keys, sql);
	strbuf_puts(sql, ")");
}

void clickhouse_sql_table(const struct clickhouse_address *address,
			  const struct store_table *table, unsigned int i, struct strbuf *sql)
{
	if (i == 0) {
		sql_put_own_table(address, table, sql);
	} else if (address->cluster[0]) {
		strbuf_puts(sql, "CREATE TABLE IF NOT EXISTS ");
		sql_put_name(address, table->name, sql);
		strbuf_puts(sql, " (");
		sql_put_types(table, sql);
		strbuf_puts(sql, ")");
		sql_put_distributed(address, table->name, "cityHash64(host)", sql);
	}
}

void clickhouse_sql_insert(const struct clickhouse_address *address,
			   const struct store_table *table, struct strbuf *sql)
{
	strbuf_puts(sql, "INSERT INTO ");
	sql_put_name(address, table->name, sql);
	strbuf_puts(sql, " (");
	sql_put_columns(table, table->n, sql);
	strbuf_puts(sql, ") FORMAT RowBinary");
}

/* Appends " FROM ... WHERE ...". */
static void sql_put_where(const struct clickhouse_address *address,
			  const struct store_query *query, struct strbuf *sql)
{
	strbuf_puts(sql, " FROM ");
	sql_put_name(address, query->table->name, sql);
	strbuf_printf(sql, " WHERE window_ns >= %" PRIu64 " AND window_ns < %" PRIu64,
		      query->from_ns, query->to_ns);
	if (query->first_host) {
		strbuf_puts(sql, " AND host >= ");
		sql_put_text(query->first_host, sql);
	}
	if (query->last_host) {
		strbuf_puts(sql, " AND host <= ");
		sql_put_text(query->last_host, sql);
	}
}

void clickhouse_sql_select(const struct clickhouse_address *address,
			   const struct store_query *query, struct strbuf *sql)
{
	strbuf_puts(sql, "SELECT ");
	sql_put_columns(query->table, query->table->n, sql);
	sql_put_where(address, query, sql);
	strbuf_puts(sql, " ORDER BY ");
	sql_put_columns(query->table, query->table->keys, sql);
	strbuf_puts(sql, " FORMAT RowBinary");
}

void clickhouse_sql_hosts(const struct clickhouse_address *address,
			  const struct store_query *query, struct strbuf *sql)
{
	strbuf_puts(sql, "SELECT host, count() AS n");
	sql_put_where(address, query, sql);
	strbuf_puts(sql, " GROUP BY host ORDER BY host FORMAT RowBinary");
}
