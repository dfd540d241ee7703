/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run measured, over time and in bounded memory: windows of equal width by *intended* time,
 * each with its histograms. Windows are aligned to multiples of their width, a power of two ns;
 * when a run needs more than SERIES_WINDOWS of them, each two neighbours become one. So what a
 * series holds is a function of the set of its samples, not of their order: a late sample lands
 * where it was due, and every sample counts.
 *
 * Memory: at most SERIES_WINDOWS times 4 histograms of 84 KB at the very most (all 40 octaves in
 * use); 10 to 20 MB in ordinary runs.
 */
#ifndef HOSTLAT_LOAD_SERIES_H
#define HOSTLAT_LOAD_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"
#include "load/analysis.h"
#include "load/parts.h"
#include "stats/hist.h"

#define SERIES_WINDOWS 256
#define SERIES_SHIFT 20      /* the least width: 2^20 ns = 1.05 ms */
#define SERIES_LAG_SCHEMA 3  /* of the send lag: 9 % */
#define SERIES_PART_SCHEMA 2 /* requests about as slow as each other: 19 % */
#define SERIES_PART_ROWS ((BUCKET_LIMIT_LOG2 << SERIES_PART_SCHEMA) + 2)

/* Requests of one bucket of the `intended` latency: sums of their parts. */
struct parts_row {
	uint64_t count;
	uint64_t ns[LOAD_PARTS];
};

/* Where there are probes, only theirs are latencies: what loads beside them can be late too. */
enum series_lag {
	LAG_COUNTED, /* of requests whose latency counts, failed ones included */
	LAG_LOAD,    /* of those that only load */
	SERIES_LAGS,
};

struct series_window {
	struct hist latency[LOAD_FROMS]; /* of completed requests */
	struct hist lag[SERIES_LAGS];    /* sent - intended */
	uint64_t failed;
	uint64_t censored;               /* without latency[LOAD_KERNEL]: load_kernel_censored() */
	struct parts_row *parts;         /* rows parts_first ... + parts_len; owned */
	uint32_t parts_first, parts_len;
};

struct series {
	uint32_t shift;              /* windows are 2^shift ns wide */
	uint64_t first;              /* windows[i] begins at (first + i) << shift */
	uint32_t n;                  /* windows in use; 0: no sample yet */
	struct series_window *windows;
};

/* Begins with windows as wide as a run of `expected_ns` needs. Returns 0 or -ENOMEM. */
int series_init(struct series *series, uint64_t expected_ns);
void series_release(struct series *series);

/*
 * Only requests that were sent; those flagged SAMPLE_WARMUP or SAMPLE_UNSENT are for the caller to
 * leave out or to count with series_add_failed(). Returns 0, -ENOMEM, or -EBADMSG for a sample
 * whose times contradict each other.
 */
int series_add(struct series *series, const struct event_sample *sample);
int series_add_failed(struct series *series, uint64_t intended_ns);
/* A request that was sent and whose latency doesn't count: LAG_LOAD, and nothing else. */
int series_add_load(struct series *series, const struct event_sample *sample);

/* Windows that end at or before `ns`: 0..n. */
uint32_t series_before(const struct series *series, uint64_t ns);

/* Windows [from, to) as one. `out` is initialised by the caller, and added to. */
int series_pool(const struct series *series, uint32_t from, uint32_t to, enum load_from which,
		struct hist *out);
int series_pool_lag(const struct series *series, uint32_t from, uint32_t to, enum series_lag which,
		    struct hist *out);
uint64_t series_failed(const struct series *series, uint32_t from, uint32_t to);
/* Completed requests whose reply shares the kernel's stamp of a later reply. */
uint64_t series_censored(const struct series *series, uint32_t from, uint32_t to);
/* `rows` has SERIES_PART_ROWS; the last is of what is above the highest bucket. */
void series_pool_parts(const struct series *series, uint32_t from, uint32_t to,
		       struct parts_row *rows);
/* The row of a latency. */
uint32_t series_part_row(uint64_t ns);

#endif
