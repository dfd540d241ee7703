/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for descriptors and for the time at which a request is due. A timer alone is late by
 * tens of microseconds, a spin alone burns a core: so the timer is set to a little before, and the
 * rest is spun, still looking at the descriptors. The lead is measured: it follows the 98.5 %
 * quantile of the timer's own lateness, by the rule of Robbins and Monro (Ann. Math. Statist. 22,
 * 1951): up by a step when a timer was later than that, down by a 64th of it when not.
 *
 * Time in which the thread could not run is reported: when a timer came late or when two
 * readings of the clock in a spin lie apart by more than NET_WAIT_GAP_NS.
 */
#ifndef HOSTLAT_NET_WAIT_H
#define HOSTLAT_NET_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define NET_WAIT_EVENTS 64
#define NET_WAIT_GAP_NS 100000ULL
#define NET_WAIT_NEVER UINT64_MAX

struct net_wait {
	int epoll;
	bool spin;           /* never sleep: spin for the whole wait */
	bool frugal;         /* never spin: be late by the timer's lateness */
	bool no_pwait2;      /* epoll_pwait2() is missing (Linux before 5.11) */
	uint64_t slack_ns;
	uint64_t spun_ns;    /* time spun so far, except gaps, in which the thread had no CPU */
	/* Results of the last net_wait(): */
	uint64_t entered_ns; /* when net_wait() began to wait */
	uint64_t woken_ns;   /* when the wait returned */
	bool slept;          /* the wait slept, judged by its duration */
	uint64_t gap_ns;     /* start of a time without a CPU that ended by woken_ns; 0: none */
	uint64_t gap_end_ns;
	struct epoll_event events[NET_WAIT_EVENTS];
};

/* Returns 0 or -errno. */
int net_wait_init(struct net_wait *wait);
void net_wait_release(struct net_wait *wait);

/* Adds a descriptor, edge-triggered; events[].data.u64 gets `tag`. Returns 0 or -errno. */
int net_wait_add(struct net_wait *wait, int fd, uint64_t tag);

/*
 * Waits for events, until `due_ns` (exact) or `until_ns` (about); if one of these times is past,
 * checks the descriptors once. `busy`: spins without sleeping. Checking never polls a network
 * card's queue, since epoll_wait() without a timeout returns before the kernel does so. Returns the
 * number of events, or -errno.
 */
int net_wait(struct net_wait *wait, uint64_t now_ns, uint64_t due_ns, uint64_t until_ns,
	     bool busy);

#endif
