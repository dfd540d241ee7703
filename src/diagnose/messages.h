/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a recording in one direction: which there are, which are to be explained, and
 * which are the reference. Times in ns of CLOCK_MONOTONIC.
 *
 * Memory: 60 bytes a message (sent: 192), MESSAGES_MAX at most; and 256 of each one that is looked
 * into.
 */
#ifndef HOSTLAT_DIAGNOSE_MESSAGES_H
#define HOSTLAT_DIAGNOSE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/reader.h"

#define MESSAGES_MAX (8u << 20)
#define SUBJECTS_MAX 100000u   /* messages that are analysed in detail, at most */
#define REFERENCE_MAX 1000u    /* references of each application, at most */
#define REFERENCE_MIN 10u      /* references: fewer are no baseline */
#define PIECES_MAX 8u

/* Only messages of one application, which are those with one pid, are compared. */
struct message {
	uint64_t id;
	uint64_t first;    /* its first byte's arrival; sent: when the call was entered */
	uint64_t read;     /* sent: when a driver had its last byte */
	uint32_t tid;
	uint32_t pid;      /* 0 = unknown */
	uint32_t flow;
	uint32_t bytes;
	uint32_t thread;   /* THREAD_NONE: unknown */
	uint32_t next;     /* the thread's next one; sent: its flow's: place + 1; 0 = none */
	uint32_t queued_ns; /* received: from its arrival to its socket's queue */
	uint32_t core;     /* core that queued it; UINT32_MAX: unknown */
};

/*
 * A sent one's last packet, on its way out: held up by pacing from `held` on, the first `early_ns`
 * of it by late timers of earlier packets; by its own late timer in the last `late_ns` before it
 * `left`; from `due` on it is in the queue of a device.
 */
struct departure {
	uint64_t held;     /* 0 = unknown */
	uint64_t left;
	uint64_t due;      /* as `held`: it was not paced */
	uint32_t early_ns, late_ns;
	uint32_t core;     /* the timer's */
	uint32_t pad;
};

/* Times at which a sent message's last byte left, from its pieces. */
struct departure_times {
	bool known;       /* false: the other members are not set */
	bool enqueued;    /* no shaper has cut the packet */
	uint64_t held;    /* nothing but its pacing held it from here on; none: as `queued` */
	uint64_t paced;   /* late timers of the message's earlier packets held it up to here */
	uint64_t late;    /* its own late timer held it from here on; not late: as `left` */
	uint32_t core;    /* the core of its own late timer */
	uint64_t left;    /* the socket let go of its last byte */
	uint64_t queued;  /* a device's queue had it; if that was not recorded: as `left` */
	uint64_t due;     /* it was to leave the queue */
};

/* All times are between `first` and `end`. */
struct departure_times messages_departure_times(const struct event_piece *pieces, uint32_t n,
						uint64_t first, uint64_t end);

/* A send call. */
struct sent {
	uint64_t at;       /* when it was entered */
	uint32_t flow;
};

struct messages {
	struct message_vec VEC_OF(struct message) all; /* by time of the read, then by id */
	uint32_t *by_queued;      /* received ones' places, by core and when they were queued */
	uint32_t *previous;       /* by place: the one before, as `next`, + 1; 0 = none */
	struct departure *departures; /* by place, of sent ones; NULL: they were received */
	struct sends VEC_OF(struct sent) sends; /* in any order; none if `all` are those */
	uint64_t others;          /* messages of the other direction */
	uint64_t beyond;          /* more than MESSAGES_MAX */
	uint64_t invalid;         /* messages that end before they begin */
	uint64_t from, to;        /* first arrival, last read */
	uint32_t damage;          /* DAMAGE_*: messages that could not be read */
};

enum against { AGAINST_SLICE, AGAINST_FASTEST };

struct message_selection {
	enum direction direction; /* the messages' */
	double from, to;          /* slice of the latencies, 0..1; used if slowest is 0 */
	uint64_t slowest;
	enum against against;
	double against_from, against_to;
};

/* A message that is analysed in detail. */
struct subject {
	uint32_t message;         /* index in `all` */
	bool target, reference;   /* target, reference, or both */
	uint32_t n;               /* pieces; 0: they were not found */
	uint64_t returned;        /* sent: when the call was over */
	struct event_piece pieces[PIECES_MAX];
};

struct subjects VEC_OF(struct subject);

struct tasks;

static inline uint64_t message_latency(const struct message *m)
{
	return m->read - m->first;
}

static inline uint64_t message_queued(const struct message *m)
{
	return m->first + m->queued_ns;
}

/* The place in by_queued of the core's first message that was queued after `time`; or the end. */
size_t messages_queued(const struct messages *messages, uint32_t core, uint64_t time);

/* Reads all messages of a direction. 0 or -errno. To be released in either case. */
int messages_read(struct messages *messages, struct event_reader *reader,
		  const struct tasks *tasks, enum direction direction);
void messages_release(struct messages *messages);

/*
 * Chooses targets and, of each application that has one, references; ordered as the messages are.
 * Reads their pieces. A choice is the same for the same recording: ties go by id, and a sample of
 * many references is by a hash of it. *dropped: targets beyond SUBJECTS_MAX. 0 or -errno.
 */
int messages_select(const struct messages *messages, const struct message_selection *selection,
		    struct event_reader *reader, struct subjects *out, uint64_t *dropped);

#endif
