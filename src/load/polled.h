/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency agents take replies from the network card's queue themselves, so that no interrupt, no
 * softirq and no wakeup lies between a packet and the thread that waits for it. Where the socket
 * has SO_BUSY_POLL, a receive call that finds nothing polls the queue that last brought a packet to
 * the socket (sk_busy_loop() in include/net/busy_poll.h), once since it never blocks. epoll_wait()
 * without a timeout does not, whatever its parameters are (EPIOCSPARAMS, Linux 6.9), and one with a
 * timeout polls beyond the moment at which a request is due.
 *
 * Whether packets were taken so is told by the kernel's own counter of them.
 */
#ifndef HOSTLAT_LOAD_POLLED_H
#define HOSTLAT_LOAD_POLLED_H

#include "event/source.h"
#include "load/thread.h"

/* An agent puts one with its last tick: packets, or the word of a reason why there are none. */
#define LOAD_FACT_POLLED "load.polled"

/*
 * The connection that waits longest for a reply, if its queue can be polled by receiving from it;
 * else NULL.
 */
struct load_conn *polled_conn(struct load_thread *t);

/*
 * A turn of the spin, at t->now: looks for events and, if there are none, receives from `conn` what
 * its queue has. Returns the number of events in t->wait, or -errno.
 */
int polled_look(struct load_thread *t, struct load_conn *conn);

/*
 * Packets that the kernel has counted as taken by busy polling, for all interfaces of this network
 * namespace since it was made.
 */
#define POLLED_UNKNOWN UINT64_MAX
uint64_t polled_packets(void);

/* LOAD_FACT_POLLED of latency agents whose threads have ended; `before`: polled_packets() then. */
int polled_put(const struct load_thread *threads, uint32_t n, uint64_t before,
	       struct event_sink *sink, uint64_t now);

/* A value of LOAD_FACT_POLLED: 0, or -EBADMSG. *why is NULL or a sentence if *packets is 0. */
int polled_parse(const char *value, uint64_t *packets, const char **why);

#endif
