/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges each nanosecond of one message to a cause. The rules: docs/design/diagnose.md.
 *
 * attrib_message() cuts a message's time into slices, each with its cause: from the arrival of its
 * first byte to its read (sent: from the call's entry until a driver has the last byte), without
 * gap or overlap, whatever the recording holds.
 *
 *	attrib_rx.c      a received message: up to the socket's queue, then its reader's thread
 *	attrib_tx.c      a sent one: in the call, in the socket, in the device's queue
 *	attrib_offcpu.c  for both: charging, what else a core does, a thread without a core
 */
#ifndef HOSTLAT_DIAGNOSE_ATTRIB_H
#define HOSTLAT_DIAGNOSE_ATTRIB_H

#include <stdint.h>

#include "diagnose/calls.h"
#include "diagnose/cause.h"
#include "diagnose/cpu_history.h"
#include "diagnose/messages.h"

#define CORE_UNKNOWN UINT32_MAX
/* A thread's stretches on a CPU, and its wakings, that are read for one message at most. */
#define ONCPUS_MAX (1u << 20)

#define DETAIL_FLOW 0x80000000u /* the rest is the number of a flow */

struct slice {
	uint64_t begin, end;
	uint32_t core;        /* CORE_UNKNOWN: none, or not known */
	uint32_t detail;      /* interrupt: as SPAN_HARDIRQ; softirq: vector; packets of a message:
			       * its flow, see DETAIL_FLOW; else the call + 1, or 0 */
	uint32_t culprit;     /* DICT_TASK; 0 = nobody, or not known */
	uint32_t message;     /* place + 1 of the message that stood before it; 0 = none */
	uint8_t cause;        /* enum cause */
	uint8_t where;        /* enum where */
	uint8_t segment_type; /* enum cpu_segment_type: what the core did */
	uint8_t pad;
	uint32_t core_task;   /* DICT_TASK: had the core */
};

/* Input of the rules for all messages of a recording, receiver of the slices, and buffers. */
struct attrib_env {
	const struct messages *messages;
	const struct tasks *tasks;
	const struct calls *calls;
	const struct cpu_history *history;
	bool by_request;     /* `read` is when the reply was sent, or a mark fired */
	bool lost_messages;  /* the recording lacks some messages */
	bool throttles;      /* some control group was throttled meanwhile */
	uint64_t recorder;   /* pid of the hostlat that recorded; 0 = unknown */
	void (*emit)(void *ctx, const struct slice *slice);
	void *ctx;
	/* Set by attrib_init(): of one thread, latest first. */
	struct attrib_oncpus VEC_OF(const struct oncpu *) oncpus;
	struct attrib_wakings VEC_OF(const struct waking *) wakings;
};

/* Before the first message; attrib_release() after the last one frees the buffers. */
void attrib_init(struct attrib_env *env);
void attrib_release(struct attrib_env *env);

/* Return the begin and end of the history that a message needs. */
uint64_t attrib_from(const struct messages *messages, const struct subject *subject);
uint64_t attrib_until(const struct messages *messages, const struct subject *subject);

/* Emits the slices of one message. 0 or -ENOMEM. */
int attrib_message(struct attrib_env *env, const struct subject *subject);

#endif
