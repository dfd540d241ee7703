/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's functions as they are called and return, live, from its function_graph tracer.
 *
 * An event's time is that of its header, in the trace clock `mono`: CLOCK_MONOTONIC as BPF reads
 * it. The calltime and rettime in some kernels' events are in another clock and aren't used.
 */
#ifndef HOSTLAT_TRACE_FUNCGRAPH_H
#define HOSTLAT_TRACE_FUNCGRAPH_H

#include "event/writer.h"
#include "trace/calls.h"
#include "trace/tracefs.h"

struct funcgraph;

/*
 * Opens the tracer for CPUs 0 to `cpus` - 1, of which some may be offline. Returns 0, or -errno
 * with the reason in words in `why`.
 */
int funcgraph_open(struct funcgraph **out, const struct tracefs_config *config, uint32_t cpus,
		   char *why, size_t size);

/* Returns true if other processes cannot use the tracer meanwhile. */
bool funcgraph_shared(const struct funcgraph *f);

/* Starts tracing. Returns 0 or -errno. */
int funcgraph_start(struct funcgraph *f);

/* Stops tracing; the buffers can still be read. */
void funcgraph_stop(struct funcgraph *f);

/* `symbol`: the function's number in DICT_SYMBOL; 0: none, or the dictionary is full. */
typedef void funcgraph_put(void *ctx, uint32_t cpu, const struct trace_call *call, uint32_t symbol);

/*
 * Reads the new calls of a CPU. Names go to the writer. Returns the time up to which all calls have
 * been put; UINT64_MAX for a CPU that is not traced.
 */
uint64_t funcgraph_pull(struct funcgraph *f, struct event_writer *writer, uint32_t cpu,
			funcgraph_put *put, void *ctx);

/* Returns the number of events overwritten before they were read, as the kernel counts them. */
uint64_t funcgraph_lost(const struct funcgraph *f);

/* Stops tracing and restores the tracer's settings. */
void funcgraph_free(struct funcgraph *f);

#endif
