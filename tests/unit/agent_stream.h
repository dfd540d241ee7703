/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's messages as bytes, for tests and fuzzing of the coordinator. */
#ifndef HOSTLAT_TESTS_AGENT_STREAM_H
#define HOSTLAT_TESTS_AGENT_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "event/writer.h"
#include "load/convert.h"

#define STREAM_TICKS 3
#define STREAM_PER_TICK 40
#define STREAM_SAMPLES (STREAM_TICKS * STREAM_PER_TICK)
#define STREAM_FLOW 7
#define STREAM_GAP 1000 /* between two intended times; the first is at the start */

/* Value of AGENT_PRIORITY in the greeting; NULL: the fact is missing, as with an older agent. */
extern const char *stream_priority;

/* The greeting up to AGENT_MADE, by its clock's time `now`. */
void stream_hello(struct event_writer *writer, uint64_t now);

/* A flow, and AGENT_CONNECTED. */
void stream_connected(struct event_writer *writer, uint64_t now);

/* The run: samples, noise, ticks, the last of them LOAD_FINAL. `start` is by its clock. */
void stream_run(struct event_writer *writer, uint64_t start);

/* Sample i of the run. */
struct event_sample stream_sample(uint64_t start, uint32_t i);

#endif
