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

struct stop {
	bool active;
	int fd;        /* to poll: readable once a signal came, until stop_requested() saw it */
	int signal;    /* which one came first; 0: none */
	sigset_t mask; /* the mask to restore */
};

/* Returns 0 or -errno. */
int stop_init(struct stop *stop);

/* Whether a signal has come; never blocks, and stays true. */
bool stop_requested(struct stop *stop);

/* Restores the mask; signals that are still pending are dropped. Accepts a zeroed struct. */
void stop_release(struct stop *stop);

#endif
