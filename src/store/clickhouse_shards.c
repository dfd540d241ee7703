/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse_shards.h"

#include <errno.h>
#include <inttypes.h>

#include "store/clickhouse_rows.h"
#include "store/clickhouse_sql.h"

/* Only Distributed tables need the setting. */
const char *clickhouse_settings(const struct clickhouse *c)
{
	return c->address.cluster[0] ? "skip_unavailable_shards=1" : "";
}

struct version_check {
	uint64_t rows;  /* one for each shard that answered */
	uint64_t other; /* a version that is not ours; 0: none */
};

static int shards_take_version(void *ctx, const void *row)
{
	const struct clickhouse_number_row *version = row;
	struct version_check *check = ctx;

	check->rows++;
	if (version->number != STORE_SCHEMA)
		check->other = version->number;
	return 0;
}

static int shards_judge_version(const struct clickhouse *c, const struct version_check *check,
				    struct strbuf *why)
{
	if (check->other) {
		strbuf_printf(why, "the database %s has tables of version %" PRIu64 ", and this "
			      "hostlat has version %d: use the hostlat that made them, or another "
			      "database", c->address.database, check->other, STORE_SCHEMA);
		return -EPROTO;
	}
	if (check->rows)
		return 0;
	strbuf_printf(why, "no shard of the cluster %s can be reached from %s: see remote_servers "
		      "in its configuration", c->address.cluster, c->address.server[0]);
	return -EHOSTUNREACH;
}

int clickhouse_check(struct clickhouse *c, uint64_t *shards, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	struct version_check check = { 0 };
	const size_t before = why->len;
	int err;

	strbuf_printf(&sql, "SELECT version FROM %s." CLICKHOUSE_SCHEMA " FORMAT RowBinary",
		      c->address.database);
	err = clickhouse_rows(c->http, &clickhouse_number_table, clickhouse_settings(c),
			      strbuf_str(&sql), shards_take_version, &check, why);
	strbuf_release(&sql);
	*shards = check.rows;
	if (err == -ENOENT) {
		strbuf_truncate(why, before);
		strbuf_printf(why, "the database %s has no tables of hostlat, or not on all "
			      "servers: make them with hostlat fleet init", c->address.database);
	}
	return err ? err : shards_judge_version(c, &check, why);
}

int clickhouse_count_shards(struct clickhouse *c, uint64_t *shards, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	int err;

	*shards = 1;
	if (!c->address.cluster[0])
		return 0;
	strbuf_printf(&sql, "SELECT toUInt64(max(shard_num)) FROM system.clusters WHERE cluster = "
		      "'%s' FORMAT RowBinary", c->address.cluster);
	err = clickhouse_number(c->http, "", strbuf_str(&sql), shards, why);
	strbuf_release(&sql);
	if (err || *shards)
		return err;
	strbuf_printf(why, "ClickHouse has no cluster %s: see remote_servers in its configuration",
		      c->address.cluster);
	return -EINVAL;
}
