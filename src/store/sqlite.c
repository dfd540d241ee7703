/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in one SQLite file. Rows are in the order of their key (WITHOUT ROWID), so that a query
 * reads them as they lie. A commit is one transaction; the journal is written ahead (WAL), so that
 * reports read while rows come in.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "store/backend.h"

#define APPLICATION_ID 0x686c6174 /* "hlat" */
#define BUSY_MS 30000
#define SQL_MAX 16384u
#define TABLES 2u

static const struct store_table *const tables[TABLES] = { &store_connections, &store_windows };

struct sqlite_store {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *insert[TABLES];
	sqlite3_stmt *older[TABLES];  /* deletes older versions of a window */
	bool began;
	int failed;                   /* first error since the last commit */
};

/* ---- errors ---- */

/* Returns -errno of a result of SQLite, after a sentence about it. */
static int sqlite_failed(sqlite3 *db, int result, const char *path, struct strbuf *why)
{
	switch (result & 0xff) {
	case SQLITE_NOMEM:
		strbuf_puts(why, "out of memory");
		return -ENOMEM;
	case SQLITE_FULL:
		strbuf_printf(why, "no room for %s: the disk is full; nothing of this window was "
			      "stored, so that it can be ingested again", path);
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		strbuf_printf(why, "%s is in use by another process that does not end: try again "
			      "later", path);
		return -EBUSY;
	case SQLITE_NOTADB:
		strbuf_printf(why, "%s is no SQLite file: give the store's path", path);
		return -EINVAL;
	case SQLITE_CORRUPT:
		strbuf_printf(why, "%s is damaged (%s): make a new store (hostlat fleet init) and "
			      "ingest the recordings again", path, sqlite3_errmsg(db));
		return -EIO;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		strbuf_printf(why, "cannot open %s: %s (the folder must be writable too: SQLite "
			      "puts its journal beside the file)", path, sqlite3_errmsg(db));
		return -EACCES;
	default:
		strbuf_printf(why, "%s: %s (a store that another version of hostlat made, or "
			      "that something has changed, must be made anew)", path,
			      sqlite3_errmsg(db));
		return -EIO;
	}
}

/* ---- SQL of a table ---- */

static void sqlite_put_names(const struct store_table *table, unsigned int n, struct strbuf *sql)
{
	for (unsigned int i = 0; i < n; i++)
		strbuf_printf(sql, "%s%s", i ? ", " : "", table->columns[i].name);
}

static void sqlite_put_create(const struct store_table *table, struct strbuf *sql)
{
	strbuf_printf(sql, "CREATE TABLE IF NOT EXISTS %s (", table->name);
	for (unsigned int i = 0; i < table->n; i++)
		strbuf_printf(sql, "%s %s NOT NULL, ", table->columns[i].name,
			      table->columns[i].type == STORE_U64 ? "INTEGER" : "TEXT");
	strbuf_puts(sql, "PRIMARY KEY (");
	sqlite_put_names(table, table->keys, sql);
	strbuf_printf(sql, ")) WITHOUT ROWID;"
		      "CREATE INDEX IF NOT EXISTS %s_by_window ON %s (window_ns);",
		      table->name, table->name);
}

static void sqlite_put_insert(const struct store_table *table, struct strbuf *sql)
{
	strbuf_printf(sql, "INSERT OR IGNORE INTO %s (", table->name);
	sqlite_put_names(table, table->n, sql);
	strbuf_puts(sql, ") VALUES (");
	for (unsigned int i = 0; i < table->n; i++)
		strbuf_puts(sql, i ? ", ?" : "?");
	strbuf_puts(sql, ")");
}

static void sqlite_put_older(const struct store_table *table, struct strbuf *sql)
{
	strbuf_printf(sql, "DELETE FROM %s WHERE host = ?1 AND recording_ns = ?2 AND "
		      "window_ns = ?3 AND version < (SELECT max(version) FROM %s WHERE "
		      "host = ?1 AND recording_ns = ?2 AND window_ns = ?3)",
		      table->name, store_windows.name);
}

static void sqlite_put_select(const struct store_query *query, struct strbuf *sql)
{
	strbuf_puts(sql, "SELECT ");
	sqlite_put_names(query->table, query->table->n, sql);
	strbuf_printf(sql, " FROM %s WHERE window_ns >= ?1 AND window_ns < ?2", query->table->name);
	if (query->first_host)
		strbuf_puts(sql, " AND host >= ?3");
	if (query->last_host)
		strbuf_puts(sql, " AND host <= ?4");
	strbuf_puts(sql, " ORDER BY ");
	sqlite_put_names(query->table, query->table->keys, sql);
}

typedef void sqlite_sql_fn(const struct store_table *table, struct strbuf *sql);

static int sqlite_prepare(struct sqlite_store *s, const struct store_table *table,
			  sqlite_sql_fn *put, sqlite3_stmt **out)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX);
	int result;

	put(table, &sql);
	result = sql.error ? SQLITE_NOMEM :
			     sqlite3_prepare_v2(s->db, strbuf_str(&sql), -1, out, NULL);
	strbuf_release(&sql);
	return result;
}

/* ---- opening ---- */

static int sqlite_pragma_step(void *ctx, int n, char **values, char **names)
{
	(void)names;
	if (n == 1 && values[0])
		*(long *)ctx = strtol(values[0], NULL, 10);
	return 0;
}

static int sqlite_pragma(sqlite3 *db, const char *sql, long *out)
{
	*out = 0;
	return sqlite3_exec(db, sql, sqlite_pragma_step, out, NULL);
}

/* Refuses a database that is no store, or one of another version. */
static int sqlite_check(sqlite3 *db, const char *path, struct strbuf *why)
{
	long id, version;
	int result = sqlite_pragma(db, "PRAGMA application_id", &id);

	if (result == SQLITE_OK)
		result = sqlite_pragma(db, "PRAGMA user_version", &version);
	if (result != SQLITE_OK)
		return sqlite_failed(db, result, path, why);
	if (id != APPLICATION_ID) {
		strbuf_printf(why, "%s is no store of hostlat fleet: make one at another path with "
			      "hostlat fleet init --store FILE", path);
		return -ENOENT;
	}
	if (version == STORE_SCHEMA)
		return 0;
	strbuf_printf(why, "%s has tables of version %ld, and this hostlat has version %d: use "
		      "the hostlat that made it, or make a new store", path, version, STORE_SCHEMA);
	return -EPROTO;
}

static int sqlite_connect(const char *path, int flags, sqlite3 **db, struct strbuf *why)
{
	int result, err = 0;
	struct stat st;

	*db = NULL;
	if (!(flags & SQLITE_OPEN_CREATE) && access(path, F_OK) && errno == ENOENT) {
		strbuf_printf(why, "there is no store %s: make one with hostlat fleet init", path);
		return -ENOENT;
	}
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		strbuf_printf(why, "%s is a folder: give the path of a file", path);
		return -EISDIR;
	}
	if (!(flags & SQLITE_OPEN_CREATE) && access(path, R_OK)) {
		err = -errno;
		strbuf_printf(why, "cannot read %s: %s", path, strerror(-err));
		return err;
	}
	result = sqlite3_open_v2(path, db, flags, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_busy_timeout(*db, BUSY_MS);
	if (result == SQLITE_OK)
		result = sqlite3_exec(*db, "PRAGMA synchronous = NORMAL;"
				      "PRAGMA cache_size = -65536", NULL, NULL, NULL);
	if (result != SQLITE_OK)
		err = sqlite_failed(*db, result, path, why);
	if (err) {
		sqlite3_close(*db);
		*db = NULL;
	}
	return err;
}

/* Returns a URI of the file for SQLite, which never changes and has no journal; NULL: no memory. */
static char *sqlite_immutable_uri(const char *path)
{
	struct strbuf uri = STRBUF_INIT(SQL_MAX);

	strbuf_puts(&uri, "file:");
	for (; *path; path++) {
		if (strchr("?#%", *path))
			strbuf_printf(&uri, "%%%02X", (unsigned char)*path);
		else
			strbuf_putc(&uri, *path);
	}
	strbuf_puts(&uri, "?immutable=1");
	return strbuf_detach(&uri);
}

/*
 * Opens a store whose folder this user may not write: SQLite reads a journal only with a file of
 * its own beside it. Without a journal, nobody writes, and none is needed. Returns false otherwise.
 */
static bool sqlite_open_immutable(struct sqlite_store *s)
{
	struct strbuf journal = STRBUF_INIT(SQL_MAX);
	struct stat st;
	char *uri;
	bool none, done;

	strbuf_printf(&journal, "%s-wal", s->path);
	none = stat(strbuf_str(&journal), &st) ? errno == ENOENT : !st.st_size;
	strbuf_release(&journal);
	uri = none ? sqlite_immutable_uri(s->path) : NULL;
	if (!uri)
		return false;
	sqlite3_close(s->db);
	s->db = NULL;
	done = sqlite3_open_v2(uri, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) ==
	       SQLITE_OK;
	free(uri);
	return done;
}

static void sqlite_close(void *state)
{
	struct sqlite_store *s = state;

	for (unsigned int i = 0; i < TABLES; i++) {
		sqlite3_finalize(s->insert[i]);
		sqlite3_finalize(s->older[i]);
	}
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

static int sqlite_prepare_all(struct sqlite_store *s, struct strbuf *why)
{
	for (unsigned int i = 0; i < TABLES; i++) {
		int result = sqlite_prepare(s, tables[i], sqlite_put_insert, &s->insert[i]);

		if (result == SQLITE_OK)
			result = sqlite_prepare(s, tables[i], sqlite_put_older, &s->older[i]);
		if (result != SQLITE_OK)
			return sqlite_failed(s->db, result, s->path, why);
	}
	return 0;
}

static int sqlite_open_state(struct sqlite_store *s, enum store_mode mode, struct strbuf *why)
{
	const int flags = mode == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	int err;

	err = sqlite_connect(s->path, flags, &s->db, why);
	if (!err)
		err = sqlite_check(s->db, s->path, why);
	if (err == -EACCES && mode == STORE_READ && sqlite_open_immutable(s)) {
		strbuf_reset(why);
		err = sqlite_check(s->db, s->path, why);
	}
	if (!err && mode == STORE_WRITE)
		err = sqlite_prepare_all(s, why);
	return err;
}

static int sqlite_open(const char *address, enum store_mode mode, void **state, struct strbuf *why)
{
	struct sqlite_store *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (s)
		s->path = strdup(address);
	if (s && s->path)
		err = sqlite_open_state(s, mode, why);
	else
		strbuf_puts(why, "out of memory");
	if (err && s) {
		sqlite_close(s);
		s = NULL;
	}
	*state = s;
	return err;
}

/* ---- making ---- */

static int sqlite_create(sqlite3 *db, const char *path, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(SQL_MAX);
	int result;

	strbuf_puts(&sql, "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE;");
	for (unsigned int i = 0; i < TABLES; i++)
		sqlite_put_create(tables[i], &sql);
	strbuf_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT;",
		      APPLICATION_ID, STORE_SCHEMA);
	result = sql.error ? SQLITE_NOMEM :
			     sqlite3_exec(db, strbuf_str(&sql), NULL, NULL, NULL);
	strbuf_release(&sql);
	return result == SQLITE_OK ? 0 : sqlite_failed(db, result, path, why);
}

static int sqlite_init(const char *address, bool otel_views, struct strbuf *why)
{
	sqlite3 *db;
	long tables_there;
	int err, result;

	if (otel_views) {
		strbuf_printf(why, "%s is a SQLite file, which cannot have the types of "
			      "OpenTelemetry's tables: --otel-views needs a store in ClickHouse",
			      address);
		return -EOPNOTSUPP;
	}
	err = sqlite_connect(address, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db, why);
	if (err)
		return err;
	result = sqlite_pragma(db, "SELECT count(*) FROM sqlite_master", &tables_there);
	if (result != SQLITE_OK)
		err = sqlite_failed(db, result, address, why);
	else if (tables_there)
		err = sqlite_check(db, address, why);
	else
		err = sqlite_create(db, address, why);
	sqlite3_close(db);
	return err;
}

/* ---- writing ---- */

static int sqlite_step(struct sqlite_store *s, sqlite3_stmt *statement, struct strbuf *why)
{
	int result = sqlite3_step(statement);

	sqlite3_reset(statement);
	return result == SQLITE_DONE ? 0 : sqlite_failed(s->db, result, s->path, why);
}

static int sqlite_exec(struct sqlite_store *s, const char *sql, struct strbuf *why)
{
	int result = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? 0 : sqlite_failed(s->db, result, s->path, why);
}

/* Binds the first n columns, or those with the given names. */
static void sqlite_bind(sqlite3_stmt *statement, int at, const struct store_column *column,
			const void *row)
{
	if (column->type == STORE_U64)
		sqlite3_bind_int64(statement, at, (sqlite3_int64)store_u64(column, row));
	else
		sqlite3_bind_text(statement, at, store_text(column, row), -1, SQLITE_STATIC);
}

static const struct store_column *sqlite_column(const struct store_table *table, const char *name)
{
	for (unsigned int i = 0; i < table->n; i++)
		if (!strcmp(table->columns[i].name, name))
			return &table->columns[i];
	BUG_ON(true);
	return NULL;
}

/*
 * Deletes all but the latest version of a window, which may be an earlier one than this: two
 * processes may store one recording.
 */
static int sqlite_delete_older(struct sqlite_store *s, const void *window, struct strbuf *why)
{
	static const char *const names[] = { "host", "recording_ns", "window_ns" };
	int err = 0;

	for (unsigned int t = 0; t < TABLES && !err; t++) {
		for (unsigned int i = 0; i < ARRAY_LEN(names); i++)
			sqlite_bind(s->older[t], (int)i + 1,
				    sqlite_column(&store_windows, names[i]), window);
		err = sqlite_step(s, s->older[t], why);
	}
	return err;
}

static int sqlite_put(void *state, const struct store_table *table, const void *row,
		      struct strbuf *why)
{
	struct sqlite_store *s = state;
	sqlite3_stmt *insert = s->insert[table == &store_windows];
	int err = 0;

	if (!s->began)
		err = sqlite_exec(s, "BEGIN IMMEDIATE", why);
	s->began |= !err;
	for (unsigned int i = 0; i < table->n && !err; i++)
		sqlite_bind(insert, (int)i + 1, &table->columns[i], row);
	if (!err)
		err = sqlite_step(s, insert, why);
	if (!err && table == &store_windows)
		err = sqlite_delete_older(s, row, why);
	if (err && !s->failed)
		s->failed = err;
	return err;
}

static int sqlite_commit(void *state, struct strbuf *why)
{
	struct sqlite_store *s = state;
	int err = s->failed;

	if (s->began && !err)
		err = sqlite_exec(s, "COMMIT", why);
	else if (err)
		strbuf_puts(why, "rows could not be added");
	if (err && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->began = false;
	s->failed = 0;
	return err;
}

static int sqlite_forget(void *state, uint64_t before_ns, struct strbuf *why)
{
	struct sqlite_store *s = state;
	struct strbuf sql = STRBUF_INIT(SQL_MAX);
	int err;

	strbuf_puts(&sql, "BEGIN IMMEDIATE;");
	for (unsigned int i = 0; i < TABLES; i++)
		strbuf_printf(&sql, "DELETE FROM %s WHERE window_ns < %llu;", tables[i]->name,
			      (unsigned long long)before_ns);
	strbuf_puts(&sql, "COMMIT;");
	err = sqlite_exec(s, strbuf_str(&sql), why);
	if (err && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	strbuf_release(&sql);
	return err;
}

/* ---- reading ---- */

static void sqlite_fill(const struct store_table *table, sqlite3_stmt *statement, char *row)
{
	for (unsigned int i = 0; i < table->n; i++) {
		const struct store_column *column = &table->columns[i];
		const char *text;

		if (column->type == STORE_U64) {
			*(uint64_t *)(row + column->offset) =
				(uint64_t)sqlite3_column_int64(statement, (int)i);
			continue;
		}
		text = (const char *)sqlite3_column_text(statement, (int)i);
		*(const char **)(row + column->offset) = text ? text : "";
	}
}

static int sqlite_rows(struct sqlite_store *s, const struct store_table *table,
		       sqlite3_stmt *statement, store_row_fn *take, void *ctx, struct strbuf *why)
{
	char *row = calloc(1, table->row_size);
	int result, err = row ? 0 : -ENOMEM;

	while (!err && (result = sqlite3_step(statement)) != SQLITE_DONE) {
		if (result == SQLITE_ROW) {
			sqlite_fill(table, statement, row);
			err = take(ctx, row);
		} else {
			err = sqlite_failed(s->db, result, s->path, why);
		}
	}
	free(row);
	return err;
}

static int sqlite_select(void *state, const struct store_query *query, store_row_fn *take,
			 void *ctx, struct strbuf *why)
{
	struct sqlite_store *s = state;
	struct strbuf sql = STRBUF_INIT(SQL_MAX);
	sqlite3_stmt *statement = NULL;
	int result, err;

	sqlite_put_select(query, &sql);
	result = sqlite3_prepare_v2(s->db, strbuf_str(&sql), -1, &statement, NULL);
	strbuf_release(&sql);
	if (result != SQLITE_OK)
		return sqlite_failed(s->db, result, s->path, why);
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)query->from_ns);
	sqlite3_bind_int64(statement, 2, (sqlite3_int64)query->to_ns);
	if (query->first_host)
		sqlite3_bind_text(statement, 3, query->first_host, -1, SQLITE_STATIC);
	if (query->last_host)
		sqlite3_bind_text(statement, 4, query->last_host, -1, SQLITE_STATIC);
	err = sqlite_rows(s, query->table, statement, take, ctx, why);
	sqlite3_finalize(statement);
	return err;
}

const struct store_backend store_sqlite = {
	.init = sqlite_init, .open = sqlite_open, .close = sqlite_close, .put = sqlite_put,
	.commit = sqlite_commit, .select = sqlite_select, .forget = sqlite_forget,
};
