/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Busy polling: latency agents poll the network card's queue themselves, so that no interrupt,
 * softirq or wakeup lies between a packet and the thread that waits for it. Where the socket has
 * SO_BUSY_POLL, a receive call that finds nothing polls the queue that last brought a packet to the
 * socket (sk_busy_loop() in include/net/busy_poll.h), once since it never blocks. epoll_wait()
 * without a timeout does not, whatever its parameters are (EPIOCSPARAMS, Linux 6.9), and one with a
 * timeout polls beyond the moment at which a request is due.
 *
 * The kernel's counter of busy-polled packets shows whether this worked.
 */
#ifndef HOSTLAT_LOAD_POLLED_H
#define HOSTLAT_LOAD_POLLED_H

#include "event/source.h"
#include "load/thread.h"

/* Put by an agent with its last tick: the number of packets, or a word for why there are none. */
#define LOAD_FACT_POLLED "load.polled"

/*
 * Returns the connection that has waited longest for a reply, if its queue can be busy-polled; else
 * NULL.
 */
struct load_conn *polled_conn(struct load_thread *t);

/*
 * Polls once, at t->now: checks for events and, if there are none, receives from `conn`, which
 * polls the queue. Returns the number of events in t->wait, or -errno.
 */
int polled_look(struct load_thread *t, struct load_conn *conn);

/*
 * Returns the kernel's count of busy-polled packets, over all interfaces of this network namespace
 * since its creation.
 */
#define POLLED_UNKNOWN UINT64_MAX
uint64_t polled_packets(void);

/*
 * Puts LOAD_FACT_POLLED of a latency agent whose threads have ended; `before`: polled_packets() at
 * its start.
 */
int polled_put(const struct load_thread *threads, uint32_t n, uint64_t before,
	       struct event_sink *sink, uint64_t now);

/*
 * Parses a value of LOAD_FACT_POLLED. Returns 0 or -EBADMSG. Sets *packets, and *why to a sentence
 * if there are none.
 */
int polled_parse(const char *value, uint64_t *packets, const char **why);

#endif
