/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP as the orderly end of a run: they are blocked, and arrive through a
 * descriptor that a loop polls beside its others. Call stop_init() before any thread is created.
 * SIGPIPE is ignored from then on: a write without a reader returns -EPIPE.
 */
#ifndef HOSTLAT_BASE_STOP_H
#define HOSTLAT_BASE_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stop {
	bool active;
	int fd;        /* for poll(2): readable from a signal until stop_requested() etc. read it */
	int signal;    /* number of the first signal; 0: none */
	bool again;    /* a second signal came after the first */
	sigset_t mask; /* signal mask that stop_release() restores */
};

/* Blocks the signals and opens the descriptor that receives them. Returns 0 or -errno. */
int stop_init(struct stop *stop);

/* Returns true if a signal has come; never blocks, and stays true. */
bool stop_requested(struct stop *stop);

/*
 * Returns true if another signal has come since stop_requested() saw the first: its sender does not
 * want to wait. Never blocks, and stays true.
 */
bool stop_insisted(struct stop *stop);

/*
 * Writes as write(2), maybe less at a time; returns -errno. From stop_init() to stop_release(), a
 * wait for the reader of a pipe or terminal ends with -ECANCELED soon after a second signal, unless
 * the reader continues. The first signal does not end the wait, as the run is to end in order.
 */
ssize_t stop_write(int fd, const void *data, size_t size);

/*
 * Opens as open(2); returns -errno. From stop_init() to stop_release(), the wait for the reader of
 * a FIFO ends with -EINTR at the next signal.
 */
int stop_open(const char *path, int flags, mode_t mode);

/* Restores the signal mask; drops pending signals. Accepts a zeroed struct. */
void stop_release(struct stop *stop);

#endif
