/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse_otel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "store/tables.h"

#define VIEW "hostlat_otel_metrics_sum"
#define TYPES "'Map', 'LowCardinality', 'DateTime64', 'Bool'"
#define TYPES_COUNT 4u
#define TYPES_SINCE "21.12"
#define TEXT_MAP "'Map(LowCardinality(String), String)'"
#define NO_EXEMPLARS(column, type) \
	"CAST([], 'Array(" type ")') AS `Exemplars." column "`"

/* Sums of a class: the end of their columns, and the metrics. */
static const struct {
	const char *end, *metric, *help;
} sums[] = {
	{ "_known_ns", "hostlat.connections.known_time",
	  "Time in which the problem would be seen" },
	{ "_limited_ns", "hostlat.connections.limited_time",
	  "Time in which the problem was there" },
	{ "_lost_ns", "hostlat.connections.lost_time",
	  "Time for which data waited because of the problem" },
};

/* ---- types ---- */

static int otel_add_answer(void *ctx, const void *bytes, size_t n)
{
	struct strbuf *answer = ctx;

	strbuf_add(answer, bytes, n);
	return answer->error;
}

static int otel_check_server(struct clickhouse *c, unsigned int server, struct strbuf *why)
{
	struct strbuf answer = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	const struct clickhouse_request request = {
		.sql = "SELECT count() FROM system.data_type_families WHERE name IN (" TYPES ")",
		.settings = "", .take = otel_add_answer, .ctx = &answer };
	int err = clickhouse_http_at(c->http, server, &request, why);

	if (!err && strtoul(strbuf_str(&answer), NULL, 10) < TYPES_COUNT) {
		strbuf_printf(why, "ClickHouse at %s lacks a type of OpenTelemetry's tables (" TYPES
			      "): --otel-views needs ClickHouse " TYPES_SINCE " or newer. Nothing "
			      "was made or changed; init without --otel-views makes the store",
			      c->address.server[server]);
		err = -EOPNOTSUPP;
	}
	strbuf_release(&answer);
	return err;
}

int clickhouse_otel_check(struct clickhouse *c, struct strbuf *why)
{
	int err = 0;

	for (unsigned int i = 0; i < c->address.n && !err; i++)
		err = otel_check_server(c, i, why);
	return err;
}

/* ---- the view ---- */

/* Returns the index in sums[] of a column; ARRAY_LEN(sums): it is no sum. */
static size_t otel_sum(const char *column)
{
	const size_t len = strlen(column);
	size_t i = 0;

	for (; i < ARRAY_LEN(sums); i++) {
		const size_t end = strlen(sums[i].end);

		if (len > end && !strcmp(column + len - end, sums[i].end))
			break;
	}
	return i;
}

/* Appends the problem of a sum's column, by its name in reports: "send-buffer". */
static void otel_put_problem(const char *column, size_t sum, struct strbuf *sql)
{
	const size_t len = strlen(column) - strlen(sums[sum].end);

	for (size_t i = 0; i < len; i++)
		strbuf_putc(sql, column[i] == '_' ? '-' : column[i]);
}

typedef void otel_put_fn(const char *column, size_t sum, struct strbuf *sql);

static void otel_put_name(const char *column, size_t sum, struct strbuf *sql)
{
	(void)sum;
	strbuf_puts(sql, column);
}

static void otel_put_sum(const char *column, size_t sum, struct strbuf *sql)
{
	(void)sum;
	strbuf_printf(sql, "sum(%s) AS %s_sum", column, column);
}

static void otel_put_metric(const char *column, size_t sum, struct strbuf *sql)
{
	strbuf_puts(sql, "('");
	otel_put_problem(column, sum, sql);
	strbuf_printf(sql, "', '%s', '%s', %s_sum)", sums[sum].metric, sums[sum].help, column);
}

/* Appends all columns with sums, with commas between. */
static void otel_put_each(otel_put_fn *put, struct strbuf *sql)
{
	const char *comma = "";

	for (unsigned int i = 0; i < store_connections.n; i++) {
		const char *column = store_connections.columns[i].name;
		const size_t sum = otel_sum(column);

		if (sum == ARRAY_LEN(sums))
			continue;
		strbuf_puts(sql, comma);
		put(column, sum, sql);
		comma = ", ";
	}
}

static void otel_put_columns(struct strbuf *sql)
{
	strbuf_puts(sql, "SELECT CAST(map('service.name', application, 'host.name', host, "
		    "'host.type', product, 'os.version', kernel), " TEXT_MAP ") "
		    "AS ResourceAttributes, '' AS ResourceSchemaUrl, 'hostlat' AS ScopeName, "
		    "'' AS ScopeVersion, CAST(map(), " TEXT_MAP ") AS ScopeAttributes, "
		    "toUInt32(0) AS ScopeDroppedAttrCount, '' AS ScopeSchemaUrl, "
		    "toLowCardinality(application) AS ServiceName, "
		    "toLowCardinality(metric.2) AS MetricName, metric.3 AS MetricDescription, "
		    "'s' AS MetricUnit, "
		    "CAST(map('hostlat.problem', metric.1), " TEXT_MAP ") AS Attributes, "
		    "fromUnixTimestamp64Nano(toInt64(begin_ns), 'UTC') AS StartTimeUnix, "
		    "fromUnixTimestamp64Nano(toInt64(end_ns), 'UTC') AS TimeUnix, "
		    "metric.4 / 1e9 AS Value, toUInt32(0) AS Flags, "
		    NO_EXEMPLARS("FilteredAttributes", "Map(LowCardinality(String), String)") ", "
		    NO_EXEMPLARS("TimeUnix", "DateTime64(9)") ", "
		    NO_EXEMPLARS("Value", "Float64") ", " NO_EXEMPLARS("SpanId", "String") ", "
		    NO_EXEMPLARS("TraceId", "String") ", "
		    "toInt32(1) AS AggregationTemporality, true AS IsMonotonic");
}

/*
 * Rows that were sent twice are equal, and of a window's versions the last counts. GLOBAL: with
 * Distributed tables, a shard alone need not have the window.
 */
static void otel_put_rows(const struct clickhouse_address *address, struct strbuf *sql)
{
	strbuf_puts(sql, "SELECT c.host AS host, c.application AS application, "
		    "any(w.product) AS product, any(w.kernel) AS kernel, "
		    "any(w.begin_ns) AS begin_ns, any(w.end_ns) AS end_ns, ");
	otel_put_each(otel_put_sum, sql);
	strbuf_puts(sql, " FROM (SELECT DISTINCT host, recording_ns, window_ns, netns, cookie, "
		    "version, application, ");
	otel_put_each(otel_put_name, sql);
	strbuf_printf(sql, " FROM %s.%s) AS c GLOBAL INNER JOIN (SELECT host, recording_ns, "
		      "window_ns, max(version) AS latest, argMax(product, version) AS product, "
		      "argMax(kernel, version) AS kernel, argMax(from_ns, version) AS begin_ns, "
		      "argMax(to_ns, version) AS end_ns FROM %s.%s "
		      "GROUP BY host, recording_ns, window_ns) AS w "
		      "ON c.host = w.host AND c.recording_ns = w.recording_ns "
		      "AND c.window_ns = w.window_ns AND c.version = w.latest "
		      "GROUP BY c.host, c.recording_ns, c.window_ns, c.application",
		      address->database, store_connections.name, address->database,
		      store_windows.name);
}

void clickhouse_otel_view(const struct clickhouse_address *address, struct strbuf *sql)
{
	strbuf_printf(sql, "CREATE VIEW IF NOT EXISTS %s." VIEW " AS ", address->database);
	otel_put_columns(sql);
	strbuf_puts(sql, " FROM (");
	otel_put_rows(address, sql);
	strbuf_puts(sql, ") ARRAY JOIN [");
	otel_put_each(otel_put_metric, sql);
	strbuf_puts(sql, "] AS metric");
}
