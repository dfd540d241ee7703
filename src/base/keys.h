/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys on the terminal of a live view: they arrive one by one and are not echoed. The terminal is
 * as before after every end: keys_close(), a stop by ^Z until the process continues, and the death
 * of the process, after which a restorer (base/restorer.h) restores it. Signals that the terminal
 * sends (^C) work as before.
 */
#ifndef HOSTLAT_BASE_KEYS_H
#define HOSTLAT_BASE_KEYS_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "base/restorer.h"

/* Results of keys_next() besides characters. */
#define KEYS_NONE 0
#define KEYS_RESIZED 256
#define KEYS_CONTINUED 257 /* after a stop, in which others may have written to the terminal */

/* Zeroed: no keys are read. */
struct keys {
	bool active;
	int fd;                /* for poll(2): readable if keys_next() has something; -1: none */
	int input, signals;    /* the terminal, and a signalfd */
	bool changed;          /* the terminal has the modes `ours` instead of `before` */
	struct termios before, ours;
	sigset_t mask;         /* signal mask that keys_close() restores */
	struct restorer restorer;
};

/*
 * Begins to read keys from `input`, before any thread is created. Does nothing and returns 0 if
 * that is no terminal; in the background, keys are read once the process is in the foreground.
 * Returns 0 or -errno; keys_close() follows in either case.
 */
int keys_open(struct keys *keys, int input);

/* Returns the next character, KEYS_RESIZED, KEYS_CONTINUED or KEYS_NONE; never waits for one. */
int keys_next(struct keys *keys);

/*
 * Opens as keys_open() the keys of a command that shows only a progress line, on stderr: reads them
 * from standard input if it shows one, and if the output goes to a terminal. A failure leaves the
 * terminal as it is.
 */
void keys_open_progress(struct keys *keys, bool quiet);

/* Sends SIGINT to this process for each q among the keys that have come. Accepts NULL. */
void keys_quit(struct keys *keys);

/* Restores the terminal and the signal mask. Accepts a zeroed struct. */
void keys_close(struct keys *keys);

#endif
