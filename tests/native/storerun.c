/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the functions of src/store/store.h: storerun ADDRESS COMMAND
 *
 *	init			makes the tables
 *	put FIRST N VERSION	stores windows FIRST to FIRST + N - 1 of each host, and commits
 *	slow			puts a window, waits for a line on stdin, and commits it
 *	rows TABLE [FROM TO [FIRST LAST]]	prints the rows, and the servers not reached
 *	forget NS		deletes older rows
 *	fill N			stores N connections of many hosts, and prints the rows per second
 *	read			reads all connections, and prints the rows per second
 *
 * Exit code 1 and a line "errno: sentence" after an error.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "store/store.h"

#define HOUR_NS 3600000000000ULL
#define WINDOW_NS (7 * HOUR_NS) /* several days soon */
#define CONNECTIONS 4
#define FILL_HOSTS 500
#define FILL_WINDOW 2000        /* connections of a window */
#define TEXT_MAX (1u << 26)

static const char *const texts[] = {
	"", "\t tab", "\n", "\r\nX: 1", "%s%n$1", "'",
	"''; DROP TABLE hostlat_windows; --", "?q=1&a=b",
	"Code: 60, e.displayText()", "\\", "\\'", "\\N", "`x`", "a\001b\177", "z {p:String} /* */",
	"\xff\xfe", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80",
};

static const char *text_at(uint64_t i)
{
	return texts[i % ARRAY_LEN(texts)];
}

static int finish(int err, const char *why)
{
	if (!err)
		return 0;
	printf("%s: %s\n", strerrorname_np(-err), why);
	return 1;
}

static struct store_shares shares_of(struct rng *rng, const char *series)
{
	return (struct store_shares){ rng_below(rng, INT64_MAX), rng_below(rng, 300),
				      rng_u64(rng) >> 1, series };
}

/* Fills a connection's row. The same arguments give the same row. */
static struct store_connection connection_of(uint64_t host, uint64_t window, uint64_t version,
					     uint64_t number, const char *series)
{
	struct store_connection c = { .host = text_at(host), .recording_ns = 5 + host % 2,
				      .window_ns = window * WINDOW_NS, .version = version };
	struct rng rng;

	rng_init(&rng, rng_derive(rng_derive(host, window), rng_derive(version, number)));
	c.netns = number % 2 ? INT64_MAX : 300 - number;
	c.cookie = number;
	c.local = text_at(rng_u64(&rng));
	c.remote = text_at(rng_u64(&rng));
	c.local_port = rng_below(&rng, 65536);
	c.remote_port = rng_below(&rng, 65536);
	c.accepted = number % 2;
	c.application = text_at(rng_u64(&rng));
	c.unit = text_at(rng_u64(&rng));
	c.cgroup = text_at(rng_u64(&rng));
	c.command = text_at(rng_u64(&rng));
	c.send_buffer = shares_of(&rng, series);
	c.receiver_window = shares_of(&rng, text_at(rng_u64(&rng)));
	c.delayed_ack = shares_of(&rng, text_at(rng_u64(&rng)));
	c.fast_retransmit = shares_of(&rng, text_at(rng_u64(&rng)));
	c.timeout = shares_of(&rng, text_at(rng_u64(&rng)));
	c.sender_app = shares_of(&rng, text_at(rng_u64(&rng)));
	return c;
}

static struct store_window window_of(uint64_t host, uint64_t window, uint64_t version)
{
	struct store_window row = { .length_ns = WINDOW_NS, .step_ns = 1, .to_ns = INT64_MAX,
				    .window_ns = window * WINDOW_NS, .recording_ns = 5 + host % 2,
				    .version = version, .connections = CONNECTIONS };

	for (unsigned int i = 0; i < store_windows.n; i++)
		if (store_windows.columns[i].type == STORE_TEXT)
			*(const char **)((char *)&row + store_windows.columns[i].offset) =
				text_at(host + i);
	return row;
}

/* The window comes first: the store has to put it behind its connections. */
static int put_window(struct store *store, uint64_t host, uint64_t window, uint64_t version)
{
	const struct store_window row = window_of(host, window, version);
	int err = store_put(store, &store_windows, &row);

	for (uint64_t i = 0; i < CONNECTIONS && !err; i++) {
		const struct store_connection c = connection_of(host, window, version, i,
								text_at(i * 7 + host));

		err = store_put(store, &store_connections, &c);
	}
	return err;
}

/* Texts of the largest size. */
static int put_long(struct store *store, uint64_t version)
{
	struct strbuf text = STRBUF_INIT(STORE_TEXT_MAX);
	struct store_connection c;
	int err;

	strbuf_fill(&text, '0', STORE_TEXT_MAX);
	c = connection_of(1, 0, version, 99, strbuf_str(&text));
	c.sender_app.series = strbuf_str(&text);
	err = store_put(store, &store_connections, &c);
	strbuf_release(&text);
	return err;
}

static int run_put(struct store *store, char **args)
{
	const uint64_t first = strtoull(args[0], NULL, 10), n = strtoull(args[1], NULL, 10);
	const uint64_t version = strtoull(args[2], NULL, 10);
	int err = first ? 0 : put_long(store, version);

	for (uint64_t i = 0; i < n * ARRAY_LEN(texts) && !err; i++)
		err = put_window(store, i % ARRAY_LEN(texts), first + i / ARRAY_LEN(texts),
				 version);
	return err ? err : store_commit(store);
}

static int run_slow(struct store *store)
{
	int err = put_window(store, 0, 1, 1);

	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return -EINTR;
	return err ? err : store_commit(store);
}

/* ---- reading ---- */

static void print_text(const char *text)
{
	for (; *text; text++) {
		if (*text > ' ' && *text < '\177' && *text != '\\')
			putchar(*text);
		else
			printf("\\x%02x", (unsigned char)*text);
	}
}

static int print_row(void *ctx, const void *row)
{
	const struct store_table *table = ctx;

	for (unsigned int i = 0; i < table->n; i++) {
		const struct store_column *column = &table->columns[i];

		if (i)
			putchar('\t');
		if (column->type == STORE_TEXT)
			print_text(store_text(column, row));
		else
			printf("%" PRIu64, store_u64(column, row));
	}
	putchar('\n');
	return 0;
}

static int run_rows(struct store *store, int n, char **args)
{
	struct store_query query = { .table = &store_connections, .to_ns = INT64_MAX };
	int err;

	if (!strcmp(args[0], store_windows.name))
		query.table = &store_windows;
	if (n >= 3) {
		query.from_ns = strtoull(args[1], NULL, 10);
		query.to_ns = strtoull(args[2], NULL, 10);
	}
	if (n >= 5) {
		query.first_host = args[3];
		query.last_host = args[4];
	}
	err = store_select(store, &query, print_row, (void *)query.table);
	if (!err && store_unreachable(store))
		printf("unreachable %s\n", store_unreachable(store));
	return err;
}

/* ---- speed ---- */

static double seconds_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

static int fill_rows(struct store *store, uint64_t n)
{
	struct store_connection c = connection_of(7, 1, 1, 1, "0*30 250 17*2 ?*3 0*20");
	char host[32], remote[32];
	int err = 0;

	c.send_buffer.series = c.receiver_window.series = c.delayed_ack.series = "0*60";
	c.fast_retransmit.series = c.timeout.series = "";
	c.local = "10.1.2.3";
	c.application = c.unit = "nginx.service";
	c.cgroup = "/system.slice/nginx.service";
	c.command = "nginx";
	c.host = host;
	c.remote = remote;
	for (uint64_t i = 0; i < n && !err; i++) {
		snprintf(host, sizeof(host), "host%04" PRIu64, i / FILL_WINDOW % FILL_HOSTS);
		snprintf(remote, sizeof(remote), "10.9.%" PRIu64 ".%" PRIu64, i / 256 % 256,
			 i % 256);
		c.window_ns = i / FILL_WINDOW / FILL_HOSTS * HOUR_NS;
		c.cookie = i;
		c.remote_port = i % 60000;
		c.sender_app.limited_ns = i * 7919 % 1000003;
		err = store_put(store, &store_connections, &c);
	}
	return err ? err : store_commit(store);
}

static int run_fill(struct store *store, uint64_t n)
{
	struct timespec from;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &from);
	err = fill_rows(store, n);
	if (!err)
		printf("%.0f rows/s\n", (double)n / seconds_since(&from));
	return err;
}

static int count_row(void *ctx, const void *row)
{
	(void)row;
	++*(uint64_t *)ctx;
	return 0;
}

static int run_read(struct store *store)
{
	const struct store_query query = { .table = &store_connections, .to_ns = INT64_MAX };
	struct timespec from;
	uint64_t n = 0;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &from);
	err = store_select(store, &query, count_row, &n);
	if (!err)
		printf("%.0f rows/s of %" PRIu64 "\n", (double)n / seconds_since(&from), n);
	return err;
}

static int run(struct store *store, const char *command, int n, char **args)
{
	if (!strcmp(command, "put") && n == 3)
		return run_put(store, args);
	if (!strcmp(command, "slow"))
		return run_slow(store);
	if (!strcmp(command, "rows") && n >= 1)
		return run_rows(store, n, args);
	if (!strcmp(command, "forget") && n == 1)
		return store_forget(store, strtoull(args[0], NULL, 10));
	if (!strcmp(command, "fill") && n == 1)
		return run_fill(store, strtoull(args[0], NULL, 10));
	if (!strcmp(command, "read"))
		return run_read(store);
	return -ENOSYS;
}

int main(int argc, char **argv)
{
	struct strbuf why = STRBUF_INIT(TEXT_MAX);
	struct store *store = NULL;
	int err, code;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "init"))
		err = store_init(argv[1], false, &why);
	else
		err = store_open(argv[1], !strncmp(argv[2], "r", 1) ? STORE_READ : STORE_WRITE,
				 &store, &why);
	code = finish(err, strbuf_str(&why));
	if (store) {
		err = run(store, argv[2], argc - 3, argv + 3);
		code = finish(err, store_why(store));
	}
	store_close(store);
	strbuf_release(&why);
	return code;
}
