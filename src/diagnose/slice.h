/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of one message read and make: see diagnose/parts.h. */
#ifndef HOSTLAT_DIAGNOSE_SLICE_H
#define HOSTLAT_DIAGNOSE_SLICE_H

#include <stdint.h>

#include "diagnose/calls.h"
#include "diagnose/cause.h"
#include "diagnose/cpu_history.h"
#include "diagnose/messages.h"

#define CORE_UNKNOWN UINT32_MAX
/* Of the reader, and its wakings, that are looked at for one message: what is before is blind. */
#define ONCPUS_MAX (1u << 20)

#define DETAIL_FLOW 0x80000000u /* the rest is the number of a flow */

struct slice {
	uint64_t begin, end;
	uint32_t core;    /* CORE_UNKNOWN: none, or not known */
	uint32_t detail;    /* interrupt: as SPAN_HARDIRQ; softirq: vector; packets of a message: its
			   * flow, see DETAIL_FLOW; else the call + 1, or 0 */
	uint32_t culprit; /* DICT_TASK: who; 0 = nobody, or not known */
	uint32_t message; /* place + 1 of the message that stood before it; 0 = none */
	uint8_t cause;    /* enum cause */
	uint8_t where;    /* enum where */
	uint8_t segment_type;     /* enum cpu_segment_type: what the core did */
	uint8_t pad;
	uint32_t core_task;     /* DICT_TASK: who had the core */
};

struct attrib_env {
	const struct messages *messages;
	const struct tasks *tasks;
	const struct calls *calls;
	const struct cpu_history *history;
	bool by_request;     /* `read` is when the reply was sent, or a mark fired */
	bool lost_messages;  /* not all of them are in the recording */
	bool throttles;      /* some control group was throttled meanwhile */
	uint64_t recorder;   /* pid of the hostlat that recorded; 0 = unknown */
	void (*emit)(void *ctx, const struct slice *slice);
	void *ctx;
	/* buffers of the partition's own */
	struct slice_oncpus VEC_OF(const struct oncpu *) oncpus;
	struct slice_wakings VEC_OF(const struct waking *) wakings;
};

#endif
