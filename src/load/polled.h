/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Busy polling: latency agents poll the network card's queue themselves, so that no interrupt,
 * softirq or wakeup delays a packet. On a socket with SO_BUSY_POLL, a receive call that finds no
 * data polls the queue that last delivered a packet to the socket (sk_busy_loop() in
 * include/net/busy_poll.h), once since the call never blocks. epoll_wait() without a timeout does
 * not poll, whatever its parameters (EPIOCSPARAMS, Linux 6.9); with a timeout, it polls beyond the
 * time at which a request is due.
 *
 * The kernel's counter of busy-polled packets shows whether busy polling worked.
 */
#ifndef HOSTLAT_LOAD_POLLED_H
#define HOSTLAT_LOAD_POLLED_H

#include "event/source.h"
#include "load/thread.h"

/* EV_FACT at the end of an agent's run: number of busy-polled packets, or why there are none. */
#define LOAD_FACT_POLLED "load.polled"

/*
 * Returns the connection that has waited longest for a reply, if its queue can be busy-polled; else
 * NULL.
 */
struct load_conn *polled_conn(struct load_thread *t);

/*
 * Polls once, at t->now: checks for epoll events and, if there are none, receives from `conn`,
 * which polls the NIC queue. Returns the number of events in t->wait, or -errno.
 */
int polled_look(struct load_thread *t, struct load_conn *conn);

/*
 * Returns the kernel's count of busy-polled packets since the creation of this network namespace,
 * over all interfaces; POLLED_UNKNOWN if it cannot be read.
 */
#define POLLED_UNKNOWN UINT64_MAX
uint64_t polled_packets(void);

/*
 * Puts LOAD_FACT_POLLED of a latency agent, after its threads have ended. `before` is the result of
 * polled_packets() at the start of the run.
 */
int polled_put(const struct load_thread *threads, uint32_t n, uint64_t before,
	       struct event_sink *sink, uint64_t now);

/*
 * Parses a value of LOAD_FACT_POLLED. Returns 0 or -EBADMSG. Sets *packets; if it is 0, sets *why
 * to a sentence.
 */
int polled_parse(const char *value, uint64_t *packets, const char **why);

#endif
