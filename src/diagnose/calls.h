/* SPDX-License-Identifier: Apache-2.0 */
/* The class and name of a system call, by its number on the machine that recorded it. */
#ifndef HOSTLAT_DIAGNOSE_CALLS_H
#define HOSTLAT_DIAGNOSE_CALLS_H

#include <stdint.h>

enum call_class {
	CALL_OTHER,
	CALL_WAIT,    /* waits for any of several files: epoll_wait, poll, select */
	CALL_RECEIVE, /* read and recv: the sleep is interruptible for a socket, uninterruptible for
		       * a file */
	CALL_SEND,
	CALL_LOCK,    /* futex: waits for another thread */
	CALL_SLEEP,
	CALL_FILE,
};

struct calls {
	const struct call *table; /* NULL: the machine's system call numbers are unknown */
	uint32_t n;
};

/* Returns the calls of a machine (fact host.machine), x86_64 or aarch64; others: table NULL. */
struct calls calls_of(const char *machine);

/* Returns the class of system call number `nr`. */
enum call_class calls_class(const struct calls *calls, uint32_t nr);

/* Returns a call's name, e.g. "epoll_wait"; NULL: it has no entry. */
const char *calls_name(const struct calls *calls, uint32_t nr);

#endif
