/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages whose boundaries the application marks itself (record --boundary mark): joins records of
 * reads with records of marks, in the order of each thread. Pure: records in, messages out. Records
 * that cannot be joined with certainty are counted by reason.
 *
 * By thread: a message is what a thread has read between its last end mark and a begin mark, from
 * one socket; it ends at the thread's next end mark. Reads between the two marks are part of the
 * application's work. By id: a message is what a thread has read since its last begin mark; it ends
 * at the end mark with the same id, in any thread.
 *
 * Memory: 200 bytes for each of MARK_THREADS threads and, with ids, of as many open messages. With
 * more, all are forgotten, and the open messages are counted as missed.
 */
#ifndef HOSTLAT_PROBE_MARKS_H
#define HOSTLAT_PROBE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_record.h"

#define MARK_THREADS 32768

enum marks_missed {
	MARKS_MET,         /* the message is complete */
	MARKS_OLDER,       /* the thread's reads before the start of recording are unknown */
	MARKS_NOTHING,     /* the thread had read nothing */
	MARKS_NO_BEGIN,    /* an end mark without a begin mark */
	MARKS_NO_END,      /* a second begin mark without an end mark */
	MARKS_NO_ID,       /* marks have ids, but this mark has no argument */
	MARKS_SEVERAL,     /* the thread had read from several sockets */
	MARKS_UNCLEAR,     /* marks with ids: an end mark came between reads and begin mark */
	MARKS_ARRIVAL,     /* the packet's arrival or its reader is unknown */
	MARKS_LOST,        /* records were lost during the message */
	MARKS_FULL,        /* more threads or open messages than MARK_THREADS */
	MARKS_MAX,
};

/* A complete message: its reads joined into one record, and its marks. */
struct marked {
	struct msg_record m;
	uint64_t begun, ended;
	uint16_t begin_core, end_core;
	bool handed; /* ended by another thread, or its thread fired marks between begin and end */
};

struct marks;

typedef void marks_done(void *ctx, const struct marked *message);

/*
 * Returns 0 or -ENOMEM. `since`: start of recording; all reads of threads that started later are
 * known.
 */
int marks_new(struct marks **out, bool by_id, uint64_t since, uint64_t lost, marks_done *done,
	      void *ctx);
void marks_free(struct marks *s); /* accepts NULL */

/* Add a record of a read or a mark. Each thread's records must come in order. */
void marks_add_read(struct marks *s, const struct msg_record *m);
void marks_add_mark(struct marks *s, const struct msg_mark *m);

/*
 * marks_missed() returns the number of messages missed for a reason, marks_excluded() whether the
 * reason is out of scope by design, marks_reason() the reason's name.
 */
uint64_t marks_missed(const struct marks *s, enum marks_missed why);
bool marks_excluded(enum marks_missed why);
const char *marks_reason(enum marks_missed why);

#endif
