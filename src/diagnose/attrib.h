/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges each nanosecond of one message to a cause. The rules: docs/design/diagnose.md.
 *
 * attrib_message() cuts a message's time into slices, each with its cause: from the arrival of its
 * first byte to its read (sent: from the call's entry until a driver has the last byte), without
 * gap or overlap, whatever the recording holds.
 *
 *	attrib_rx.c      a received message: up to the socket's queue, then its reader's thread
 *	attrib_tx.c      a sent message: in the call, in the socket, in the device's queue
 *	attrib_offcpu.c  both: charging, other work of a core, a thread without a core
 */
#ifndef HOSTLAT_DIAGNOSE_ATTRIB_H
#define HOSTLAT_DIAGNOSE_ATTRIB_H

#include <stdint.h>

#include "diagnose/calls.h"
#include "diagnose/cause.h"
#include "diagnose/cpu_history.h"
#include "diagnose/subjects.h"

#define CORE_UNKNOWN UINT32_MAX
/* Largest number of a thread's stretches on a CPU, and of its wakings, read for one message. */
#define ONCPUS_MAX (1u << 20)

#define DETAIL_FLOW 0x80000000u /* flag in slice.detail: the lower bits are the number of a flow */

struct slice {
	uint64_t begin, end;
	uint32_t core;        /* CORE_UNKNOWN: no core, or not known */
	uint32_t detail;      /* interrupt: its number, or SPAN_VECTOR + enum span_vector; softirq:
			       * its vector; packets of a message: DETAIL_FLOW | flow; otherwise
			       * system call + 1, 0: none */
	uint32_t culprit;     /* task that caused the delay, in DICT_TASK; 0: none, or not known */
	uint32_t message;     /* index + 1 of the message that delayed this one; 0: none */
	uint8_t cause;        /* enum cause */
	uint8_t where;        /* enum where */
	uint8_t segment_type; /* enum cpu_segment_type: the core's activity */
	uint8_t pad;
	uint32_t core_task;   /* task that had the core, in DICT_TASK */
};

/* Input of the attribution of a recording's messages, the receiver of slices, and buffers. */
struct attrib_env {
	const struct messages *messages;
	const struct tasks *tasks;
	const struct calls *calls;
	const struct cpu_history *history;
	bool by_request;     /* a message ends at its reply or a mark: struct message's `read` is
			      * that time */
	bool lost_messages;  /* some messages were lost: the recording lacks them */
	bool throttles;      /* some control group was throttled during the recording */
	uint64_t recorder;   /* pid of the hostlat that recorded; 0: unknown */
	void (*emit)(void *ctx, const struct slice *slice);
	void *ctx;
	/*
	 * Buffers for one thread's stretches on a CPU and wakings, latest first; see attrib_init().
	 */
	struct attrib_oncpus VEC_OF(const struct oncpu *) oncpus;
	struct attrib_wakings VEC_OF(const struct waking *) wakings;
};

/* Initialize the buffers before the first message; attrib_release() frees them after the last. */
void attrib_init(struct attrib_env *env);
void attrib_release(struct attrib_env *env);

/* Returns where the CPU history that the message needs begins, in ns. attrib_until(): its end. */
uint64_t attrib_from(const struct messages *messages, const struct subject *subject);
uint64_t attrib_until(const struct messages *messages, const struct subject *subject);

/*
 * Emits the slices of a thread's time from `from` to `to` that belongs to no message. A thread
 * without a number, and time without a record, are not recorded. The history must begin before,
 * with the thread's last stretch on a CPU. Returns 0 or -ENOMEM.
 */
int attrib_stretch(struct attrib_env *env, uint32_t thread, uint64_t from, uint64_t to,
		   enum where where);

/* Emits the slices of one message. Returns 0 or -ENOMEM. */
int attrib_message(struct attrib_env *env, const struct subject *subject);

#endif
