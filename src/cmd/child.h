/* SPDX-License-Identifier: Apache-2.0 */
/* Other commands of this program, run as processes of their own. */
#ifndef HOSTLAT_CMD_CHILD_H
#define HOSTLAT_CMD_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/stop.h"
#include "base/strbuf.h"

#define CHILD_WORDS_MAX 64

/* Environment: number of the descriptor to which a child writes a byte once it measures. */
#define CHILD_READY_FD "HOSTLAT_READY_FD"

struct child {
	pid_t pid;          /* 0: none, or waited for */
	int said;           /* the child's standard error, read by the functions below; -1: none */
	int ready;          /* readable once the child measures or has ended; -1: it was read */
	bool measures;      /* child_ready() has returned 0 */
	size_t begun;       /* then: messages in `text` from here on came later */
	struct strbuf text; /* the child's messages so far */
	size_t relayed;     /* bytes of `text` that child_relay_warnings() has read */
};

/*
 * Runs `words`, a NULL at their end: a command of hostlat with its arguments. It is a process group
 * of its own, and gets SIGTERM when this process ends without having stopped it. Returns 0 or
 * -errno. child_end() must follow in either case.
 */
int child_start(struct child *child, const char *const words[]);

/*
 * Starts a child as child_start() does, without privileges: as the user behind sudo if that user
 * owns `folder`, into which the child writes.
 */
int child_start_plain(struct child *child, const char *const words[], const char *folder);

/*
 * Waits until the child measures (measuring_begin()). Returns 0, -ECHILD if it ended before, -EINTR
 * if a signal came, or -ETIMEDOUT.
 */
int child_ready(struct child *child, uint64_t patience_ns, struct stop *stop);

/*
 * Waits for its end: its exit code, or -EINTR with a signal (it is still running), -ETIMEDOUT, or
 * -ECHILD if a signal ended it.
 */
int child_wait(struct child *child, uint64_t patience_ns, struct stop *stop);

/*
 * Logs the warnings that the command wrote since the last call: the user of this process must see
 * them. child_end() does so, too.
 */
void child_relay_warnings(struct child *child);

/*
 * Appends why the command failed. `code`: of child_start(), child_ready() or child_wait(). If the
 * command ended by itself, its message is the reason, without the program's name: the first one
 * that is no warning after it began to measure, or before that the last one.
 */
void child_put_error(const struct child *child, int code, struct strbuf *why);

/* Asks the child to end in order, as by ctrl-C. */
void child_interrupt(const struct child *child);

/* Ends the child, if need be by SIGKILL, logs its warnings, and frees. Accepts a zeroed one. */
void child_end(struct child *child);

#endif
