/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/clickhouse_address.h"

#define WHY_MAX 4096u

struct store {
	const struct store_backend *backend;
	void *state;
	struct strbuf why;
};

static const struct store_backend *store_backend(const char *address)
{
	if (!strncmp(address, CLICKHOUSE_BEGIN, strlen(CLICKHOUSE_BEGIN)) ||
	    !strncmp(address, CLICKHOUSE_BEGIN_TLS, strlen(CLICKHOUSE_BEGIN_TLS)))
		return &store_clickhouse;
	return &store_sqlite;
}

int store_open(const char *address, enum store_mode mode, struct store **out, struct strbuf *why)
{
	struct store *store = calloc(1, sizeof(*store));
	int err;

	if (!store) {
		strbuf_puts(why, "out of memory");
		return -ENOMEM;
	}
	store->backend = store_backend(address);
	strbuf_init(&store->why, WHY_MAX);
	err = store->backend->open(address, mode, &store->state, why);
	if (err) {
		free(store);
		store = NULL;
	}
	*out = store;
	return err;
}

int store_init(const char *address, bool otel_views, struct strbuf *why)
{
	return store_backend(address)->init(address, otel_views, why);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	store->backend->close(store->state);
	strbuf_release(&store->why);
	free(store);
}

const char *store_why(const struct store *store)
{
	return strbuf_str(&store->why);
}

int store_put(struct store *store, const struct store_table *table, const void *row)
{
	strbuf_reset(&store->why);
	return store->backend->put(store->state, table, row, &store->why);
}

int store_commit(struct store *store)
{
	strbuf_reset(&store->why);
	return store->backend->commit(store->state, &store->why);
}

int store_select(struct store *store, const struct store_query *query, store_row_fn *take,
		 void *ctx)
{
	strbuf_reset(&store->why);
	return store->backend->select(store->state, query, take, ctx, &store->why);
}

int store_forget(struct store *store, uint64_t before_ns)
{
	strbuf_reset(&store->why);
	return store->backend->forget(store->state, before_ns, &store->why);
}

const char *store_unreachable(const struct store *store)
{
	return store->backend->unreachable ? store->backend->unreachable(store->state) : NULL;
}
