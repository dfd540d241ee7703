/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in ClickHouse: deleting old rows. Whole days are partitions, and dropped at once. A part
 * of a day is deleted by a mutation, which ClickHouse does later: its end is awaited for a while.
 */
#include "store/clickhouse_forget.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/vec.h"
#include "store/clickhouse_rows.h"
#include "store/clickhouse_sql.h"
#include "store/clickhouse_state.h"

#define DAYS_MAX 1000000u
#define POLLS 300u
#define POLL_NS 100000000L

struct forget_days VEC_OF(uint64_t);

static int forget_add_day(void *ctx, const void *row)
{
	struct forget_days *days = ctx;

	return vec_push(days, ((const struct clickhouse_number_row *)row)->number);
}

/* Lists the days that have rows to forget, over all shards: one that is down is an error. */
static int forget_list(struct clickhouse *c, const struct store_table *table, uint64_t before_ns,
		       struct forget_days *days, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	int err;

	strbuf_printf(&sql, "SELECT DISTINCT toUInt64(intDiv(window_ns, %llu)) AS day FROM %s.%s "
		      "WHERE window_ns < %" PRIu64 " FORMAT RowBinary", CLICKHOUSE_PARTITION_NS,
		      c->address.database, table->name, before_ns);
	err = clickhouse_rows(c->http, &clickhouse_number_table, "", strbuf_str(&sql),
			      forget_add_day, days, why);
	strbuf_release(&sql);
	return err;
}

/* Runs "ALTER TABLE ... CHANGE" on each server. */
static int forget_alter(struct clickhouse *c, const struct store_table *table, const char *change,
			uint64_t number, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	struct clickhouse_request request = { .settings = "" };
	int err = 0;

	strbuf_puts(&sql, "ALTER TABLE ");
	clickhouse_sql_local(&c->address, table->name, &sql);
	strbuf_printf(&sql, " %s %" PRIu64, change, number);
	request.sql = strbuf_str(&sql);
	for (unsigned int i = 0; i < c->address.n && !err; i++)
		err = clickhouse_http_at(c->http, i, &request, why);
	strbuf_release(&sql);
	return err;
}

static int forget_delete(struct clickhouse *c, const struct store_table *table, uint64_t before_ns,
			 const struct forget_days *days, struct strbuf *why)
{
	const uint64_t last = before_ns / CLICKHOUSE_PARTITION_NS;
	int err = 0;

	vec_for_each(days, day) {
		if (*day < last)
			err = forget_alter(c, table, "DROP PARTITION", *day, why);
		else
			err = forget_alter(c, table, "DELETE WHERE window_ns <", before_ns, why);
		if (err)
			break;
	}
	return err;
}

/* Waits until no row is left. Rows of a shard without a server in the address stay. */
static int forget_await(struct clickhouse *c, const struct store_table *table, uint64_t before_ns,
			struct strbuf *why)
{
	const struct timespec rest = { .tv_nsec = POLL_NS };
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	uint64_t left = 0;
	int err = 0;

	strbuf_printf(&sql, "SELECT count() FROM %s.%s WHERE window_ns < %" PRIu64
		      " FORMAT RowBinary", c->address.database, table->name, before_ns);
	for (unsigned int i = 0; i < POLLS && !err; i++) {
		err = clickhouse_number(c->http, "", strbuf_str(&sql), &left, why);
		if (err || !left)
			break;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
	}
	strbuf_release(&sql);
	if (err || !left)
		return err;
	strbuf_printf(why, "%" PRIu64 " old rows of %s are not deleted yet: the address must name "
		      "all servers of the cluster; or ClickHouse is still at it",
		      left, table->name);
	return -EINPROGRESS;
}

static int forget_table(struct clickhouse *c, const struct store_table *table, uint64_t before_ns,
			struct strbuf *why)
{
	struct forget_days days;
	int err;

	vec_init(&days, DAYS_MAX);
	err = forget_list(c, table, before_ns, &days, why);
	if (!err)
		err = forget_delete(c, table, before_ns, &days, why);
	vec_release(&days);
	return err ? err : forget_await(c, table, before_ns, why);
}

/* Windows go first: none is ever there without its connections. */
int clickhouse_forget(void *state, uint64_t before_ns, struct strbuf *why)
{
	int err = forget_table(state, &store_windows, before_ns, why);

	return err ? err : forget_table(state, &store_connections, before_ns, why);
}
