/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a recording in one direction. Times in ns of CLOCK_MONOTONIC.
 *
 * Memory: 60 bytes a message (sent: 192), at most MESSAGES_MAX messages.
 */
#ifndef HOSTLAT_DIAGNOSE_MESSAGES_H
#define HOSTLAT_DIAGNOSE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/reader.h"

#define MESSAGES_MAX (8u << 20)

/* A message of an application. Messages are compared only within one application, i.e. one pid. */
struct message {
	uint64_t id;
	uint64_t first;    /* when the first byte arrived; sent: when the call was entered */
	uint64_t read;     /* when the message was read; sent: when a driver had the last byte */
	uint32_t tid;
	uint32_t pid;      /* 0 = unknown */
	uint32_t flow;
	uint32_t bytes;
	uint32_t thread;   /* THREAD_NONE: unknown */
	uint32_t next;     /* index + 1 of the thread's (sent: flow's) next message; 0: none */
	uint32_t queued_ns; /* received: ns from its arrival to its socket's queue */
	uint32_t core;     /* core that put the message into the socket's queue; UINT32_MAX:
			    * unknown */
};

/*
 * Transmission of a sent message's last packet. Pacing holds the packet from `held` to `due`: late
 * timers of earlier packets do in the first `early_ns`, its own late timer in the last `late_ns`
 * before `left`, when the socket releases it. From `due` on, only a device's queue holds it.
 */
struct departure {
	uint64_t held;     /* 0: unknown */
	uint64_t left;
	/* time from which only a device's queue holds the packet; not paced: when it was queued */
	uint64_t due;
	uint32_t early_ns, late_ns;
	uint32_t core;     /* core of the packet's own late pacing timer */
	uint32_t pad;
};

/* Times at which a sent message's last byte left, from its pieces, the intervals of its time. */
struct departure_times {
	bool known;       /* false: the other members are not set */
	bool enqueued;    /* the packet entered a qdisc */
	/* time from which only pacing held the packet; not paced: when it was queued */
	uint64_t held;
	uint64_t paced; /* time up to which late pacing timers of earlier packets held the packet */
	/*
	 * time from which the packet's own late pacing timer held it; same as `left` if the timer
	 * was not late
	 */
	uint64_t late;
	uint32_t core;    /* core of the packet's own late pacing timer */
	uint64_t left;    /* when the socket released the last byte */
	uint64_t queued;  /* when the last byte entered a device's queue; equals `left`: not
			   * recorded */
	uint64_t due;     /* when the last byte was due to leave the queue */
};

/* Returns the times of a sent message, all between `first` and `end`. */
struct departure_times messages_departure_times(const struct event_piece *pieces, uint32_t n,
						uint64_t first, uint64_t end);

/* A send call. */
struct sent {
	uint64_t at;       /* when the call was entered, in ns */
	uint32_t flow;
};

struct messages {
	struct message_vec VEC_OF(struct message) all; /* sorted by time of the read, then by id */
	uint32_t *by_queued;      /* indexes of received messages, by core, then queued time */
	uint32_t *previous;       /* by message: index + 1 of the thread's (sent: flow's) previous
				   * one; 0: none */
	struct departure *departures; /* transmission of each sent message; NULL: messages are
				       * received */
	struct sends VEC_OF(struct sent) sends; /* send calls, if received messages are read */
	uint64_t others;          /* number of messages of the other direction */
	uint64_t beyond;          /* number of messages beyond MESSAGES_MAX */
	uint64_t invalid;         /* number of messages that end before they begin */
	uint64_t from, to;        /* first arrival and last read, in ns */
	uint32_t damage;          /* DAMAGE_*: why messages could not be read */
};

struct tasks;

static inline uint64_t message_latency(const struct message *m)
{
	return m->read - m->first;
}

static inline uint64_t message_queued(const struct message *m)
{
	return m->first + m->queued_ns;
}

/* Returns the index in by_queued of the core's first message queued after `time`, or the end. */
size_t messages_queued(const struct messages *messages, uint32_t core, uint64_t time);

/* Reads all messages of a direction. Returns 0 or -errno. Release `messages` in either case. */
int messages_read(struct messages *messages, struct event_reader *reader,
		  const struct tasks *tasks, enum direction direction);
void messages_release(struct messages *messages);

/*
 * Calls `add` for each message event of a recording, core by core. Returns 0, or the error of `add`
 * or the reader; adds DAMAGE_* to *damage.
 */
int messages_each(struct event_reader *reader, int (*add)(void *ctx, const struct event *event),
		  void *ctx, uint32_t *damage);

#endif
