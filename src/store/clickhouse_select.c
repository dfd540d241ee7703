/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in ClickHouse: reading rows. Rows are counted by host first, and then read in pieces of
 * whole hosts: the server sorts no more at once, and an answer with fewer rows than were counted is
 * an error, whatever cut it short.
 */
#include "store/clickhouse_select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/clickhouse_rows.h"
#include "store/clickhouse_shards.h"
#include "store/clickhouse_sql.h"

#define PIECE_ROWS 250000u
#define HOSTS_MAX 10000000u

/* A row of the count; as an item of a list, `host` is owned. */
struct host_count {
	const char *host;
	uint64_t rows;
};

struct host_counts VEC_OF(struct host_count);

static const struct store_column host_columns[] = {
	{ .name = "host", .type = STORE_TEXT, .offset = offsetof(struct host_count, host) },
	{ .name = "n", .type = STORE_U64, .offset = offsetof(struct host_count, rows) },
};
static const struct store_table host_table = {
	.columns = host_columns, .n = 2, .row_size = sizeof(struct host_count)
};

struct selecting {
	struct clickhouse *c;
	const struct store_query *query;
	store_row_fn *take;
	void *ctx;
	uint64_t counted, seen;   /* rows */
	struct host_counts hosts;
};

static int select_add_host(void *ctx, const void *row)
{
	const struct host_count *count = row;
	struct selecting *s = ctx;
	char *host = strdup(count->host);
	int err = host ? vec_push(&s->hosts, (struct host_count){ host, count->rows }) : -ENOMEM;

	if (err)
		free(host);
	s->counted += count->rows;
	return err;
}

static int select_take(void *ctx, const void *row)
{
	struct selecting *s = ctx;

	s->seen++;
	return s->take(s->ctx, row);
}

typedef void select_sql_fn(const struct clickhouse_address *address,
			   const struct store_query *query, struct strbuf *sql);

static int select_run(struct selecting *s, const struct store_query *query, select_sql_fn *write,
		      const struct store_table *table, store_row_fn *take, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	int err;

	write(&s->c->address, query, &sql);
	err = sql.error;
	if (err)
		strbuf_puts(why, "the names of the hosts are too long, or there is no memory");
	else
		err = clickhouse_rows(s->c->http, table, clickhouse_settings(s->c),
				      strbuf_str(&sql), take, s, why);
	strbuf_release(&sql);
	return err;
}

static int select_pieces(struct selecting *s, struct strbuf *why)
{
	struct store_query piece = *s->query;
	int err = 0;

	for (size_t i = 0; i < s->hosts.len && !err;) {
		uint64_t rows = 0;

		piece.first_host = s->hosts.items[i].host;
		do {
			piece.last_host = s->hosts.items[i].host;
			rows += s->hosts.items[i++].rows;
		} while (i < s->hosts.len && rows + s->hosts.items[i].rows <= PIECE_ROWS);
		err = select_run(s, &piece, clickhouse_sql_select, piece.table, select_take, why);
	}
	return err;
}

/* ---- shards that are down ---- */

static void select_put_unreachable(struct clickhouse *c)
{
	const char *comma = "";
	uint64_t named = 0;

	strbuf_reset(&c->unreachable);
	for (unsigned int i = 0; i < c->address.n; i++) {
		if (!clickhouse_http_is_down(c->http, i))
			continue;
		strbuf_printf(&c->unreachable, "%s%s", comma, c->address.server[i]);
		comma = ", ";
		named++;
	}
	if (c->shards_lost > named)
		strbuf_printf(&c->unreachable, "%s%" PRIu64 " shard%s of the cluster %s", comma,
			      c->shards_lost - named, c->shards_lost - named == 1 ? "" : "s",
			      c->address.cluster);
}

/* Asks each server by itself, to name those that are down. */
static void select_ask_each(struct clickhouse *c)
{
	const struct clickhouse_request request = { .sql = "SELECT 1", .settings = "" };
	struct strbuf ignored = STRBUF_INIT(CLICKHOUSE_SQL_MAX);

	for (unsigned int i = 0; i < c->address.n; i++) {
		strbuf_reset(&ignored);
		if (!clickhouse_http_is_down(c->http, i))
			clickhouse_http_at(c->http, i, &request, &ignored);
	}
	strbuf_release(&ignored);
}

/* Counts the shards that don't answer now: the most of the counts since `shards_lost` was 0. */
static int select_probe(struct clickhouse *c, struct strbuf *why)
{
	uint64_t answered, shards;
	int err;

	if (!c->address.cluster[0])
		return 0;
	err = clickhouse_check(c, &answered, why);
	if (!err)
		err = clickhouse_count_shards(c, &shards, why);
	if (err || answered >= shards)
		return err;
	if (shards - answered > c->shards_lost)
		c->shards_lost = shards - answered;
	select_ask_each(c);
	return 0;
}

/* ---- a query ---- */

/* A shard can stop or return during the query, so that it is looked for before and after. */
static int select_all(struct selecting *s, struct strbuf *why)
{
	int err = select_probe(s->c, why);

	if (!err)
		err = select_run(s, s->query, clickhouse_sql_hosts, &host_table, select_add_host,
				 why);
	if (!err)
		err = select_pieces(s, why);
	return err ? err : select_probe(s->c, why);
}

static int select_check_count(const struct selecting *s, struct strbuf *why)
{
	if (s->seen >= s->counted || s->c->shards_lost)
		return 0;
	strbuf_printf(why, "ClickHouse gave %" PRIu64 " of the %" PRIu64 " rows of %s that it had "
		      "counted: rows were deleted in between, or an answer was cut short; "
		      "try again",
		      s->seen, s->counted, s->query->table->name);
	return -EIO;
}

int clickhouse_select(void *state, const struct store_query *query, store_row_fn *take, void *ctx,
		      struct strbuf *why)
{
	struct clickhouse *c = state;
	struct selecting s = { .c = c, .query = query, .take = take, .ctx = ctx };
	int err;

	vec_init(&s.hosts, HOSTS_MAX);
	c->shards_lost = 0;
	clickhouse_http_forgive(c->http);
	err = select_all(&s, why);
	if (!err)
		err = select_check_count(&s, why);
	select_put_unreachable(c);
	vec_for_each(&s.hosts, count)
		free((void *)count->host);
	vec_release(&s.hosts);
	return err;
}
