/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event format under the largest recording that it is made for, written, read back and checked
 * event by event, sought in and cut, in little memory. At its full length: 100 million spans of 64
 * cores in raw ticks of two clocks, a million messages, ten million load samples.
 *
 *	sim_evbig [PERCENT]      1 without an argument, 100 with HOSTLAT_LONG=1
 *
 * HOSTLAT_SEED=N: another recording. HOSTLAT_RESULTS=DIR: the table goes to DIR/event-format.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "event/dict.h"
#include "event/reader.h"
#include "event/track.h"
#include "evbig.h"

#define RSS_MAX_KIB    (64 * 1024)
#define SPAN_BYTES_MAX 32
#define BEYOND_MAX     2 /* chunks a seek may read that do not overlap its window */

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	fputs("FAILED: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fputc('\n', stdout);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

/* VmHWM and not ru_maxrss: that one remembers what the parent was before exec. */
static uint64_t peak_rss_kib(void)
{
	unsigned long long kib = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	CHECK(status);
	while (fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmHWM: %llu", &kib) == 1)
			break;
	}
	fclose(status);
	CHECK(kib > 0);
	return kib;
}

__attribute__((format(printf, 3, 4))) static void row(struct big *big, const char *what,
						      const char *format, ...)
{
	va_list args;

	strbuf_printf(&big->table, "| %s | ", what);
	va_start(args, format);
	strbuf_vprintf(&big->table, format, args);
	va_end(args);
	strbuf_puts(&big->table, " |\n");
}

void big_init_cores(struct big *big)
{
	for (uint32_t core = 0; core < GEN_CORES; core++)
		gen_core_init(&big->cores[core], big->seed, core, big->spans / GEN_CORES);
}

/* ---- windows ---- */

/* Every seventh is empty, most are short, some are long. */
static void init_window(struct event_window *window, uint32_t core, uint64_t from, struct rng *rng)
{
	const uint64_t random = rng_u64(rng);

	*window = (struct event_window){
		.kind = EV_EDGE,
		.core = core,
		.domain = gen_domain(core),
		.from = from,
		.to = from + 1,
	};
	if (random % 7)
		window->to += rng_below(rng, random % 5 ? 1000000 : 50000000);
}

/*
 * The windows of one core: three of four begin at an edge of a sixteenth of the core's edges that
 * is its own, the others anywhere, which is mostly where nothing happened for seconds.
 */
static void choose_windows(struct big *big, uint32_t core, struct rng *rng)
{
	const uint64_t part = big->spans / GEN_CORES * 2 / (WINDOWS / GEN_CORES);
	struct gen_core *gen = &big->cores[core];
	uint64_t number = 0, chosen = rng_below(rng, part);
	struct gen_edge edge;
	uint32_t i = core;

	for (; gen_core_next(gen, &edge); number++) {
		if (number != chosen || i >= WINDOWS)
			continue;
		init_window(&big->windows[i].at, core, edge.time, rng);
		i += GEN_CORES;
		chosen = (i / GEN_CORES) * part + rng_below(rng, part);
	}
	CHECK(i >= WINDOWS);
	for (i = core; i < WINDOWS; i += 4 * GEN_CORES)
		init_window(&big->windows[i].at, core,
			    GEN_START + rng_below(rng, edge.time - GEN_START), rng);
}

/* Windows i of core i % GEN_CORES; a pass of the generator alone. */
static void init_windows(struct big *big)
{
	struct rng rng;

	rng_init(&rng, big->seed + 1);
	big_init_cores(big);
	for (uint32_t core = 0; core < GEN_CORES; core++)
		choose_windows(big, core, &rng);
}

/* Reads a window of the file into `got`. Blocks of a core come in the order of time. */
static void read_window(struct event_source *source, struct window *got)
{
	struct event_block block;
	struct event_track track = { 0 };
	bool begun = false;

	CHECK(!event_source_seek(source, &got->at));
	while (event_source_next(source, &block) > 0) {
		const struct event_edge *edge = block.data;

		CHECK(block.kind == EV_EDGE && block.core == got->at.core);
		track.depth = block.n_open;
		if (block.n_open)
			memcpy(track.open, block.open, block.n_open * sizeof(*block.open));
		for (uint32_t i = 0; i < block.count; i++, edge++) {
			const uint64_t time = block.first + edge->dt;

			if (time >= got->at.from && !begun) {
				for (uint32_t d = 0; d < track.depth; d++)
					big_open_window(got, track.open[d].begin,
							track.open[d].what);
				begun = true;
			}
			if (time >= got->at.from && time < got->at.to)
				big_add_edge(got, time, edge);
			if (edge->type & SPAN_END)
				track.depth--;
			else
				event_track_begin(&track, time, edge->what, edge->arg, edge->type);
		}
	}
}

static void seek_all(struct big *big)
{
	const double start = now();
	struct event_reader_stats before, after;
	uint64_t chunks = 0, beyond = 0, beyond_max = 0, open = 0;
	struct event_reader *reader;
	double seconds;

	CHECK(!event_reader_new(&reader, big->fd));
	for (uint32_t i = 0; i < WINDOWS; i++) {
		const struct window *expected = &big->windows[i];
		struct window got = { .at = expected->at };
		uint64_t more;

		event_reader_stats(reader, &before);
		read_window(event_reader_source(reader), &got);
		event_reader_stats(reader, &after);
		if (got.hash != expected->hash || got.open != expected->open)
			fail("window %u: %u open, %u expected", i, got.open, expected->open);
		chunks += after.chunks - before.chunks;
		CHECK(after.chunks - before.chunks >= expected->overlapping);
		more = after.chunks - before.chunks - expected->overlapping;
		beyond += more;
		beyond_max = more > beyond_max ? more : beyond_max;
		open += got.open;
	}
	CHECK(beyond_max <= BEYOND_MAX);
	CHECK(open > WINDOWS && !after.index_rebuilt);
	seconds = now() - start;
	row(big, "seeks", "%d windows, %.2f ms each, index of %u chunks loaded first", WINDOWS,
	    seconds * 1e3 / WINDOWS, after.indexed);
	row(big, "spans begun before the window", "%.1f of them a window, all found",
	    (double)open / WINDOWS);
	row(big, "chunks read", "%.2f a window; beyond the window %.2f, at most %llu",
	    (double)chunks / WINDOWS, (double)beyond / WINDOWS, (unsigned long long)beyond_max);
	event_reader_free(reader);
}

/* ---- cut ---- */

/* The last time that the file has of a core; 0 without any. */
static uint64_t last_time(struct event_source *source, uint32_t core)
{
	const struct event_window window = {
		.kind = EV_EDGE,
		.core = core,
		.domain = gen_domain(core),
		.from = UINT64_MAX - 1,
		.to = UINT64_MAX,
	};
	struct event_block block;
	uint64_t last = 0;

	CHECK(!event_source_seek(source, &window));
	while (event_source_next(source, &block) > 0)
		last = block.last;
	return last;
}

/* Names of facts are spread over the file: what is there must be the first so many, and right. */
static uint32_t check_names(struct event_reader *reader)
{
	struct event_dict *dict = event_dict_new();
	uint32_t n;
	char text[32];

	CHECK(dict && !event_reader_names(reader, dict));
	n = event_dict_len(dict, DICT_STRING);
	for (uint32_t i = 1; i <= n; i++) {
		snprintf(text, sizeof(text), "fact %u", i - 1);
		CHECK(strcmp(event_dict_get(dict, DICT_STRING, i), text) == 0);
	}
	CHECK(event_dict_len(dict, DICT_SYMBOL) == GEN_NAMES);
	event_dict_free(dict);
	return n;
}

/* Checks that the rest of a window's core is right; counts the windows that are whole. */
static uint32_t check_cut(struct big *big, uint64_t size, uint32_t *names, double *seconds)
{
	const double start = now();
	struct event_reader_stats stats;
	struct event_reader *reader;
	uint32_t whole = 0;

	CHECK(ftruncate(big->fd, size) == 0);
	CHECK(!event_reader_new(&reader, big->fd));
	*names = check_names(reader);
	*seconds = now() - start;
	for (uint32_t i = 0; i < WINDOWS; i++) {
		const struct window *expected = &big->windows[i];
		struct window got = { .at = expected->at };

		if (last_time(event_reader_source(reader), got.at.core) < got.at.to)
			continue;
		read_window(event_reader_source(reader), &got);
		CHECK(got.hash == expected->hash && got.open == expected->open);
		whole++;
	}
	event_reader_stats(reader, &stats);
	CHECK(stats.index_rebuilt);
	event_reader_free(reader);
	return whole;
}

static void cut_all(struct big *big)
{
	static const int percents[] = { 99, 70, 30 };
	uint32_t before = WINDOWS + 1, names_before = UINT32_MAX;
	struct rng rng;

	rng_init(&rng, big->seed + 2);
	for (size_t i = 0; i < ARRAY_LEN(percents); i++) {
		const uint64_t size = big->size / 100 * percents[i] - rng_below(&rng, 100000);
		uint32_t names, whole;
		double seconds;
		char what[64];

		whole = check_cut(big, size, &names, &seconds);
		CHECK(whole < before && names <= names_before && names > 0);
		before = whole;
		names_before = names;
		snprintf(what, sizeof(what), "cut at %d %%", percents[i]);
		row(big, what,
		    "index and %u names rebuilt in %.2f s; %u of %d windows whole, all right",
		    names + GEN_NAMES, seconds, whole, WINDOWS);
	}
	CHECK(before > 0);
}

/* ---- all ---- */

static int temporary_file(void)
{
	const char *folder = getenv("TMPDIR");
	struct strbuf path = STRBUF_INIT(4096);
	char *name;
	int fd;

	strbuf_printf(&path, "%s/evbig-XXXXXX", folder && *folder ? folder : "/var/tmp");
	name = strbuf_detach(&path);
	CHECK(name);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		fail("%s: %s", name, strerror(errno));
	unlink(name);
	free(name);
	return fd;
}

static void describe(struct big *big, const char *what, double seconds, const struct seen *seen)
{
	row(big, what, "%.1f s, %.1f million spans/s, peak RSS %.1f MiB", seconds,
	    big->spans / seconds / 1e6, peak_rss_kib() / 1024.0);
	if (!seen)
		return;
	row(big, "checked",
	    "%llu edges, depth %u, %u blind intervals; %llu messages, %llu samples, "
	    "%llu connection intervals, %llu facts, %llu clock parameters",
	    (unsigned long long)seen->n_edges, seen->max_depth, seen->n_blind,
	    (unsigned long long)seen->n_messages, (unsigned long long)seen->n_samples,
	    (unsigned long long)seen->n_conns, (unsigned long long)seen->n_facts,
	    (unsigned long long)seen->n_params);
	row(big, "a span", "%.2f bytes before compression, headers and open spans included",
	    (double)big->edge_bytes / (seen->n_edges / 2));
}

static void write_result(const struct big *big, uint64_t percent)
{
	const char *folder = getenv("HOSTLAT_RESULTS");
	struct strbuf path = STRBUF_INIT(4096);
	FILE *out;

	fputs(strbuf_str(&big->table), stdout);
	if (!folder || percent < 100)
		return;
	strbuf_printf(&path, "%s/event-format.md", folder);
	out = fopen(strbuf_str(&path), "w");
	CHECK(out);
	fprintf(out,
		"# The event format at full length\n\n"
		"`HOSTLAT_LONG=1 HOSTLAT_SEED=%llu build/tests/sim/sim_evbig`, part of `make "
		"long`:\n"
		"100 million spans of 64 cores in two clock domains, with all that a recording\n"
		"has besides, written, read back and checked event by event in one process.\n"
		"Limits: 64 MiB, 32 bytes a span, %d chunks beyond a window.\n"
		"Times are of the machine that it ran on, and of what else ran there.\n\n"
		"| | |\n|---|---|\n%s",
		(unsigned long long)big->seed, BEYOND_MAX, strbuf_str(&big->table));
	fclose(out);
	strbuf_release(&path);
}

int main(int argc, char **argv)
{
	static struct big big = { .table = STRBUF_INIT(1 << 16) };
	const char *seed = getenv("HOSTLAT_SEED");
	uint64_t percent = getenv("HOSTLAT_LONG") ? 100 : 1;
	struct seen seen = { 0 };
	double start;

	if (argc > 2 || (argc == 2 && (parse_u64(argv[1], &percent) || !percent)))
		fail("usage: sim_evbig [PERCENT]");
	if (seed && parse_u64(seed, &big.seed))
		fail("HOSTLAT_SEED takes " PARSE_U64_TAKES);
	big.spans = 1000000 * percent;
	big.messages = 10000 * percent;
	big.samples = 100000 * percent;
	big.conns = 10000 * percent;
	big.facts = 10 * percent;
	big.fd = temporary_file();
	init_windows(&big);

	start = now();
	big_write(&big);
	describe(&big, "written", now() - start, NULL);
	start = now();
	big_read(&big, &seen);
	describe(&big, "read and checked", now() - start, &seen);
	row(&big, "the file", "%.1f MiB with zstd, index and dictionary", big.size / 1048576.0);
	seek_all(&big);
	cut_all(&big);
	CHECK((double)big.edge_bytes / (seen.n_edges / 2) <= SPAN_BYTES_MAX);
	CHECK(peak_rss_kib() <= RSS_MAX_KIB);
	row(&big, "peak RSS of all", "%.1f MiB", peak_rss_kib() / 1024.0);
	write_result(&big, percent);
	printf("seed %llu, %llu %%\n", (unsigned long long)big.seed, (unsigned long long)percent);
	strbuf_release(&big.table);
	close(big.fd);
	return 0;
}
