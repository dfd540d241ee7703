/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an application says itself about where a message begins and ends (record --boundary mark):
 * joins what the programs told of reads and of marks, in the order in which a thread did them.
 * Pure: records in, messages out. What can't be joined for sure is counted by its reason.
 *
 * By thread: a message is what a thread has read since its last end mark and before a begin mark,
 * of one socket, up to the thread's next end mark. What is read between the two is the
 * application's own doing. By id: what a thread has read since its last begin mark, up to the end
 * mark with the same id, in any thread.
 *
 * Memory: MARK_THREADS of 200 bytes, and as many for messages that are open, by id. When there are
 * more, all are forgotten; the open ones are counted.
 */
#ifndef HOSTLAT_PROBE_MARKS_H
#define HOSTLAT_PROBE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_record.h"

#define MARK_THREADS 32768

enum marks_missed {
	MARKS_MET,         /* nothing is missing */
	MARKS_OLDER,       /* what its thread had read before the start isn't known */
	MARKS_NOTHING,     /* nothing was read for it */
	MARKS_NO_BEGIN,    /* an end mark without a begin mark */
	MARKS_NO_END,      /* a begin mark, and then another one */
	MARKS_NO_ID,       /* by id, and the mark has no argument */
	MARKS_SEVERAL,     /* its thread had read from several sockets: which one's isn't known */
	MARKS_UNCLEAR,     /* by id: an end mark was between read and begin: whose isn't known */
	MARKS_ARRIVAL,     /* when its packet came isn't known, or who read it */
	MARKS_LOST,        /* records were lost meanwhile */
	MARKS_FULL,        /* more at once than there is room for */
	MARKS_MAX,
};

/* A message: what was read for it as if it were one call's, and its marks. */
struct marked {
	struct told_message m;
	uint64_t begun, ended;
	uint16_t begin_core, end_core;
	bool handed; /* from begin to end, its thread was not at it, or not only */
};

struct marks;

typedef void marks_done(void *ctx, const struct marked *message);

/* `since`: a thread that was born later has read nothing unseen. 0 or -ENOMEM. */
int marks_new(struct marks **out, bool by_id, uint64_t since, uint64_t lost, marks_done *done,
	      void *ctx);
void marks_free(struct marks *s); /* NULL is fine */

void marks_read(struct marks *s, const struct told_message *m);
void marks_mark(struct marks *s, const struct told_mark *m);

/* How many so far; which are no fault of the measurement; what the reason is called. */
uint64_t marks_missed(const struct marks *s, enum marks_missed why);
bool marks_excluded(enum marks_missed why);
const char *marks_reason(enum marks_missed why);

#endif
