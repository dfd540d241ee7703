/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL for ClickHouse, from version 18.16 on. Without a cluster the tables are those of tables.h. In
 * a cluster each server has its part in tables with the suffix "_local", and the tables of tables.h
 * are Distributed ones over them: all rows of a host are on one shard.
 */
#ifndef HOSTLAT_STORE_CLICKHOUSE_SQL_H
#define HOSTLAT_STORE_CLICKHOUSE_SQL_H

#include "base/strbuf.h"
#include "store/clickhouse_address.h"
#include "store/query.h"

#define CLICKHOUSE_SCHEMA "hostlat_schema"

/* A partition is a day, in UTC, by its number since 1970. */
#define CLICKHOUSE_PARTITION_NS 86400000000000ULL

/* Statements that make the database and the view with the version of the tables. */
#define CLICKHOUSE_SQL_SCHEMA_STATEMENTS 3u
/* Statements that make a table. */
#define CLICKHOUSE_SQL_TABLE_STATEMENTS 2u

/* Write the statement `i`; nothing if this address does not need it. */
void clickhouse_sql_schema(const struct clickhouse_address *address, unsigned int i,
			   struct strbuf *sql);
void clickhouse_sql_table(const struct clickhouse_address *address,
			  const struct store_table *table, unsigned int i, struct strbuf *sql);

/* Writes the name of the table that has a server's own rows. */
void clickhouse_sql_local(const struct clickhouse_address *address, const char *table,
			  struct strbuf *sql);

/* Writes "INSERT INTO ... FORMAT RowBinary". */
void clickhouse_sql_insert(const struct clickhouse_address *address,
			   const struct store_table *table, struct strbuf *sql);

/* Writes the query for rows, in the order of the key. */
void clickhouse_sql_select(const struct clickhouse_address *address,
			   const struct store_query *query, struct strbuf *sql);

/* Writes the query for the hosts that have rows, in order, and the number of rows of each. */
void clickhouse_sql_hosts(const struct clickhouse_address *address,
			  const struct store_query *query, struct strbuf *sql);

#endif
