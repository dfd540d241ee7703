/* SPDX-License-Identifier: Apache-2.0 */
/* A store in ClickHouse: making and opening it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/clickhouse_forget.h"
#include "store/clickhouse_insert.h"
#include "store/clickhouse_otel.h"
#include "store/clickhouse_rows.h"
#include "store/clickhouse_select.h"
#include "store/clickhouse_shards.h"
#include "store/clickhouse_sql.h"

#define SETTINGS_MAX 512u
#define NAMES_MAX 32768u
#define WINDOWS_MAX (1u << 30) /* bytes of windows in one commit */
#define BATCH_ROOM (64u << 20) /* bytes: a batch and a row beyond it */

static void clickhouse_close(void *state)
{
	struct clickhouse *c = state;

	clickhouse_http_free(c->http);
	strbuf_release(&c->insert);
	strbuf_release(&c->connections);
	strbuf_release(&c->windows);
	strbuf_release(&c->unreachable);
	free(c);
}

/* ---- opening ---- */

/*
 * An INSERT waits until its rows are stored, on all shards, and may have many days. Servers of
 * other versions lack some of these settings, and refuse the unknown ones.
 */
static int clickhouse_prepare_insert(struct clickhouse *c, struct strbuf *why)
{
	strbuf_puts(&c->insert, "insert_distributed_sync=1");
	return clickhouse_texts(c->http, "SELECT concat('&', name, '=0') FROM system.settings "
				"WHERE name IN ('async_insert', 'max_partitions_per_insert_block') "
				"FORMAT RowBinary", &c->insert, why);
}

static int clickhouse_new(const char *address, struct clickhouse **out, struct strbuf *why)
{
	struct clickhouse *c = calloc(1, sizeof(*c));
	int err;

	*out = NULL;
	if (!c) {
		strbuf_puts(why, "out of memory");
		return -ENOMEM;
	}
	strbuf_init(&c->insert, SETTINGS_MAX);
	strbuf_init(&c->connections, BATCH_ROOM);
	strbuf_init(&c->windows, WINDOWS_MAX);
	strbuf_init(&c->unreachable, NAMES_MAX);
	err = clickhouse_address_parse(address, &c->address, why);
	if (!err)
		err = clickhouse_http_new(&c->address, &c->http, why);
	if (err)
		clickhouse_close(c);
	else
		*out = c;
	return err;
}

static int clickhouse_open(const char *address, enum store_mode mode, void **state,
			   struct strbuf *why)
{
	struct clickhouse *c;
	uint64_t shards;
	int err = clickhouse_new(address, &c, why);

	*state = NULL;
	if (err)
		return err;
	err = clickhouse_count_shards(c, &shards, why);
	if (!err)
		err = clickhouse_check(c, &shards, why);
	if (!err && mode == STORE_WRITE)
		err = clickhouse_prepare_insert(c, why);
	if (err)
		clickhouse_close(c);
	else
		*state = c;
	return err;
}

/* ---- making ---- */

/* Makes the statement's table on a server. An empty statement is none. */
static int clickhouse_make(struct clickhouse *c, unsigned int server, const struct strbuf *sql,
			   struct strbuf *why)
{
	const struct clickhouse_request request = { .sql = strbuf_str(sql), .settings = "" };

	if (sql->error) {
		strbuf_puts(why, "out of memory");
		return sql->error;
	}
	return sql->len ? clickhouse_http_at(c->http, server, &request, why) : 0;
}

static int clickhouse_make_schema(struct clickhouse *c, unsigned int server, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	int err = 0;

	for (unsigned int i = 0; i < CLICKHOUSE_SQL_SCHEMA_STATEMENTS && !err; i++) {
		strbuf_reset(&sql);
		clickhouse_sql_schema(&c->address, i, &sql);
		err = clickhouse_make(c, server, &sql, why);
	}
	strbuf_release(&sql);
	return err;
}

static int clickhouse_make_table(struct clickhouse *c, unsigned int server,
				 const struct store_table *table, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	int err = 0;

	for (unsigned int i = 0; i < CLICKHOUSE_SQL_TABLE_STATEMENTS && !err; i++) {
		strbuf_reset(&sql);
		clickhouse_sql_table(&c->address, table, i, &sql);
		err = clickhouse_make(c, server, &sql, why);
	}
	strbuf_release(&sql);
	return err;
}

/* Fails if the cluster has a shard of which no server is in the address. */
static int clickhouse_check_shards(struct clickhouse *c, uint64_t answered, struct strbuf *why)
{
	uint64_t shards;
	int err = clickhouse_count_shards(c, &shards, why);

	if (err || answered >= shards)
		return err;
	strbuf_printf(why, "%" PRIu64 " of the %" PRIu64 " shards of the cluster %s do not answer "
		      "or have no tables: give an address with all servers of the cluster",
		      shards - answered, shards, c->address.cluster);
	return -EHOSTUNREACH;
}

/* The versions are compared before a table is made: those of another version are left alone. */
static int clickhouse_make_all(struct clickhouse *c, struct strbuf *why)
{
	uint64_t answered;
	int err = clickhouse_count_shards(c, &answered, why);

	for (unsigned int i = 0; i < c->address.n && !err; i++)
		err = clickhouse_make_schema(c, i, why);
	if (!err)
		err = clickhouse_check(c, &answered, why);
	if (!err)
		err = clickhouse_check_shards(c, answered, why);
	for (unsigned int i = 0; i < c->address.n && !err; i++) {
		err = clickhouse_make_table(c, i, &store_connections, why);
		if (!err)
			err = clickhouse_make_table(c, i, &store_windows, why);
	}
	return err;
}

static int clickhouse_make_otel_view(struct clickhouse *c, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	int err = 0;

	clickhouse_otel_view(&c->address, &sql);
	for (unsigned int i = 0; i < c->address.n && !err; i++)
		err = clickhouse_make(c, i, &sql, why);
	strbuf_release(&sql);
	return err;
}

static int clickhouse_init(const char *address, bool otel_views, struct strbuf *why)
{
	struct clickhouse *c;
	int err = clickhouse_new(address, &c, why);

	if (err)
		return err;
	if (otel_views)
		err = clickhouse_otel_check(c, why);
	if (!err)
		err = clickhouse_make_all(c, why);
	if (!err && otel_views)
		err = clickhouse_make_otel_view(c, why);
	clickhouse_close(c);
	return err;
}

static const char *clickhouse_unreachable(const void *state)
{
	const struct clickhouse *c = state;

	return c->unreachable.len ? strbuf_str(&c->unreachable) : NULL;
}

const struct store_backend store_clickhouse = {
	.init = clickhouse_init, .open = clickhouse_open, .close = clickhouse_close,
	.put = clickhouse_put, .commit = clickhouse_commit, .select = clickhouse_select,
	.forget = clickhouse_forget, .unreachable = clickhouse_unreachable,
};
