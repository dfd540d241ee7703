/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP as the orderly end of a run: they are blocked and arrive through a
 * descriptor that a loop polls beside its others. Call stop_init() before any thread is made.
 * SIGPIPE is ignored from then on: a reader that went away is the error -EPIPE of a write.
 */
#ifndef HOSTLAT_BASE_STOP_H
#define HOSTLAT_BASE_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stop {
	bool active;
	int fd;        /* to poll: readable once a signal came, until one of these saw it */
	int signal;    /* which one came first; 0: none */
	bool again;    /* a second signal came after the first */
	sigset_t mask; /* the mask to restore */
};

/* Returns 0 or -errno. */
int stop_init(struct stop *stop);

/* Whether a signal has come; never blocks, and stays true. */
bool stop_requested(struct stop *stop);

/*
 * Whether another one has come since stop_requested() saw the first: who sent it doesn't want to
 * wait. Never blocks, and stays true.
 */
bool stop_insisted(struct stop *stop);

/*
 * As write(2), but with -errno, and maybe less at a time. While a stop is active, what waits for a
 * reader (a pipe's, a terminal's) is ended by whoever insists: -ECANCELED, soon after the second
 * signal unless the reader goes on. The first one leaves it waiting: the end is to be in order.
 */
ssize_t stop_write(int fd, const void *data, size_t size);

/*
 * As open(2), but with -errno. While a stop is active, a FIFO that nobody reads is waited for until
 * the next signal: -EINTR.
 */
int stop_open(const char *path, int flags, mode_t mode);

/* Restores the mask; signals that are still pending are dropped. Accepts a zeroed struct. */
void stop_release(struct stop *stop);

#endif
