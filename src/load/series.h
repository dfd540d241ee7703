/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time series of measurements in bounded memory: windows of equal width over the *intended*
 * times, each with its histograms. Windows are aligned to multiples of their width, a power of two
 * in ns. When a run needs more than SERIES_WINDOWS windows, neighbors are merged. A series
 * therefore depends only on the set of samples, not on their order: a late sample is added where it
 * was due.
 *
 * Memory: at most SERIES_WINDOWS times 4 histograms of 84 KB (all 40 octaves in use); 10 to 20 MB
 * in most runs.
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
#define SERIES_SHIFT 20      /* smallest width: 2^20 ns = 1.05 ms */
#define SERIES_LAG_SCHEMA 3  /* histogram schema of send lags: buckets 9 % wide */
#define SERIES_PART_SCHEMA 2 /* histogram schema of latency parts: buckets 19 % wide */
#define SERIES_PART_ROWS ((BUCKET_LIMIT_LOG2 << SERIES_PART_SCHEMA) + 2)

/* Sums of latency parts of the requests whose latency from intended send is in one bucket. */
struct parts_row {
	uint64_t count;
	uint64_t ns[LOAD_PARTS];
};

/*
 * Kinds of send lags. If there are latency agents, only their requests count as latency, but
 * requests of other agents can be late, too.
 */
enum series_lag {
	LAG_COUNTED, /* send lag of requests whose latency counts, including failed ones */
	LAG_LOAD,    /* send lag of requests that only generate load */
	SERIES_LAGS,
};

struct series_window {
	struct hist latency[LOAD_FROMS]; /* latency of completed requests */
	struct hist lag[SERIES_LAGS];    /* send lag: sent - intended */
	uint64_t failed;
	/* completed requests without a kernel latency, as a later reply has the receive stamp */
	uint64_t censored;
	/* sums of latency parts; parts[i] is for latency bucket parts_first + i; owned */
	struct parts_row *parts;
	uint32_t parts_first, parts_len;
};

struct series {
	uint32_t shift;              /* windows are 2^shift ns wide */
	uint64_t first;              /* windows[i] begins at (first + i) << shift */
	uint32_t n;                  /* windows in use; 0: no sample yet */
	struct series_window *windows;
};

/* Initializes windows of the width that a run of `expected_ns` needs. Returns 0 or -ENOMEM. */
int series_init(struct series *series, uint64_t expected_ns);
void series_release(struct series *series);

/*
 * Adds a request that was sent. The caller skips samples with SAMPLE_WARMUP, and passes those with
 * SAMPLE_UNSENT to series_add_failed(). Returns 0, -ENOMEM, or -EBADMSG for contradictory times.
 */
int series_add(struct series *series, const struct event_sample *sample);
int series_add_failed(struct series *series, uint64_t intended_ns);
/* Adds the send lag of a sent request, whose latency does not count, to LAG_LOAD. */
int series_add_load(struct series *series, const struct event_sample *sample);

/* Adds the latency (ns) of a request that is kept by --excise. */
int series_add_undisturbed(struct series *series, uint64_t intended_ns, uint64_t latency_ns);

/* Returns the number of windows that end at or before `ns`: 0..n. */
uint32_t series_before(const struct series *series, uint64_t ns);

/*
 * Adds the histograms of windows [from, to) to `out`, which the caller initializes. Returns 0 or
 * -ENOMEM.
 */
int series_pool(const struct series *series, uint32_t from, uint32_t to, enum load_from which,
		struct hist *out);
int series_pool_lag(const struct series *series, uint32_t from, uint32_t to, enum series_lag which,
		    struct hist *out);
uint64_t series_failed(const struct series *series, uint32_t from, uint32_t to);
/* Returns the number of completed requests whose reply shares the stamp of a later reply. */
uint64_t series_censored(const struct series *series, uint32_t from, uint32_t to);
/*
 * Adds the sums of latency parts in windows [from, to) to `rows`, an array of SERIES_PART_ROWS with
 * a row per latency bucket; the last row is for latencies above the highest bucket.
 */
void series_pool_parts(const struct series *series, uint32_t from, uint32_t to,
		       struct parts_row *rows);
/* Returns the index of the struct parts_row that sums up requests with a latency of `ns`. */
uint32_t series_part_row(uint64_t ns);

#endif
