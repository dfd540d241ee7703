/* SPDX-License-Identifier: Apache-2.0 */
/* Starts other hostlat commands as child processes, waits for them and reads their messages. */
#ifndef HOSTLAT_CMD_CHILD_H
#define HOSTLAT_CMD_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/stop.h"
#include "base/strbuf.h"

#define CHILD_WORDS_MAX 192

/* Environment variable: descriptor to which a child writes a byte when its measurement starts. */
#define CHILD_READY_FD "HOSTLAT_READY_FD"

struct child {
	pid_t pid;          /* process id of the child; 0: not started, or reaped */
	int said;           /* the child's standard error, read by the functions below; -1: none */
	int ready;          /* pipe; readable once the child measures or has ended; -1: closed */
	bool measures;      /* the measurement has started: child_ready() has returned 0 */
	size_t begun;       /* offset in `text` of messages after the start of the measurement */
	struct strbuf text; /* all messages of the child */
	size_t relayed;     /* offset in `text` up to which child_relay_warnings() has read */
};

/*
 * Starts a hostlat command as a child process. `words` are its arguments, with a NULL at the end.
 * The child has a process group of its own and gets SIGTERM if this process dies first. Returns 0
 * or -errno. The caller calls child_end() in either case.
 */
int child_start(struct child *child, const char *const words[]);

/*
 * Starts a child as child_start() does, without privileges outside of `set` (PRIVILEGE()): as the
 * user behind sudo if that user owns `folder`, into which the child writes.
 */
int child_start_plain(struct child *child, const char *const words[], const char *folder,
		      uint64_t set);

/*
 * Waits until the child has called measuring_begin(). Returns 0, -ECHILD if the child ended first,
 * -EINTR after a signal, or -ETIMEDOUT after `patience_ns`.
 */
int child_ready(struct child *child, uint64_t patience_ns, struct stop *stop);

/*
 * Waits for the child's end. Returns its exit code, -ECHILD if a signal killed it, or, while it
 * still runs, -EINTR after a signal or -ETIMEDOUT.
 */
int child_wait(struct child *child, uint64_t patience_ns, struct stop *stop);

/*
 * Logs the child's new warnings since the last call, so that the user of this process sees them.
 * child_end() calls this function.
 */
void child_relay_warnings(struct child *child);

/*
 * Appends the reason why the child failed. `code` is the result of child_start(), child_ready() or
 * child_wait(). If the child ended by itself, the reason is its error message without the program's
 * name: the first after the measurement began, or the last before. Warnings do not count.
 */
void child_put_error(const struct child *child, int code, struct strbuf *why);

/* Sends SIGINT to the child, which then ends in order and writes its result. */
void child_interrupt(const struct child *child);

/* Ends the child, with SIGKILL after 10 s; logs its warnings; frees. Accepts a zeroed struct. */
void child_end(struct child *child);

#endif
