/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/calls.h"

#include <stddef.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"

/* System calls by number. A call without an entry is CALL_OTHER, and is shown by its number. */
struct call {
	uint32_t nr;
	enum call_class class;
	const char *name;
};

/* Source: arch/x86/entry/syscalls/syscall_64.tbl */
static const struct call x86_64[] = {
	{ 0, CALL_RECEIVE, "read" },
	{ 1, CALL_SEND, "write" },
	{ 2, CALL_FILE, "open" },
	{ 7, CALL_WAIT, "poll" },
	{ 9, CALL_OTHER, "mmap" },
	{ 10, CALL_OTHER, "mprotect" },
	{ 11, CALL_OTHER, "munmap" },
	{ 17, CALL_FILE, "pread64" },
	{ 18, CALL_FILE, "pwrite64" },
	{ 19, CALL_RECEIVE, "readv" },
	{ 20, CALL_SEND, "writev" },
	{ 23, CALL_WAIT, "select" },
	{ 24, CALL_OTHER, "sched_yield" },
	{ 26, CALL_FILE, "msync" },
	{ 28, CALL_OTHER, "madvise" },
	{ 34, CALL_SLEEP, "pause" },
	{ 35, CALL_SLEEP, "nanosleep" },
	{ 40, CALL_SEND, "sendfile" },
	{ 43, CALL_OTHER, "accept" },
	{ 44, CALL_SEND, "sendto" },
	{ 45, CALL_RECEIVE, "recvfrom" },
	{ 46, CALL_SEND, "sendmsg" },
	{ 47, CALL_RECEIVE, "recvmsg" },
	{ 61, CALL_OTHER, "wait4" },
	{ 73, CALL_FILE, "flock" },
	{ 74, CALL_FILE, "fsync" },
	{ 75, CALL_FILE, "fdatasync" },
	{ 128, CALL_SLEEP, "rt_sigtimedwait" },
	{ 130, CALL_SLEEP, "rt_sigsuspend" },
	{ 202, CALL_LOCK, "futex" },
	{ 208, CALL_WAIT, "io_getevents" },
	{ 230, CALL_SLEEP, "clock_nanosleep" },
	{ 232, CALL_WAIT, "epoll_wait" },
	{ 233, CALL_OTHER, "epoll_ctl" },
	{ 257, CALL_FILE, "openat" },
	{ 270, CALL_WAIT, "pselect6" },
	{ 271, CALL_WAIT, "ppoll" },
	{ 275, CALL_SEND, "splice" },
	{ 281, CALL_WAIT, "epoll_pwait" },
	{ 288, CALL_OTHER, "accept4" },
	{ 295, CALL_FILE, "preadv" },
	{ 299, CALL_RECEIVE, "recvmmsg" },
	{ 307, CALL_SEND, "sendmmsg" },
	{ 426, CALL_WAIT, "io_uring_enter" },
	{ 441, CALL_WAIT, "epoll_pwait2" },
	{ 449, CALL_LOCK, "futex_waitv" },
};

/* Source: include/uapi/asm-generic/unistd.h */
static const struct call generic[] = {
	{ 4, CALL_WAIT, "io_getevents" },
	{ 21, CALL_OTHER, "epoll_ctl" },
	{ 22, CALL_WAIT, "epoll_pwait" },
	{ 32, CALL_FILE, "flock" },
	{ 56, CALL_FILE, "openat" },
	{ 63, CALL_RECEIVE, "read" },
	{ 64, CALL_SEND, "write" },
	{ 65, CALL_RECEIVE, "readv" },
	{ 66, CALL_SEND, "writev" },
	{ 67, CALL_FILE, "pread64" },
	{ 68, CALL_FILE, "pwrite64" },
	{ 69, CALL_FILE, "preadv" },
	{ 71, CALL_SEND, "sendfile" },
	{ 72, CALL_WAIT, "pselect6" },
	{ 73, CALL_WAIT, "ppoll" },
	{ 76, CALL_SEND, "splice" },
	{ 82, CALL_FILE, "fsync" },
	{ 83, CALL_FILE, "fdatasync" },
	{ 98, CALL_LOCK, "futex" },
	{ 101, CALL_SLEEP, "nanosleep" },
	{ 115, CALL_SLEEP, "clock_nanosleep" },
	{ 133, CALL_SLEEP, "rt_sigsuspend" },
	{ 137, CALL_SLEEP, "rt_sigtimedwait" },
	{ 202, CALL_OTHER, "accept" },
	{ 206, CALL_SEND, "sendto" },
	{ 207, CALL_RECEIVE, "recvfrom" },
	{ 211, CALL_SEND, "sendmsg" },
	{ 212, CALL_RECEIVE, "recvmsg" },
	{ 227, CALL_FILE, "msync" },
	{ 242, CALL_OTHER, "accept4" },
	{ 243, CALL_RECEIVE, "recvmmsg" },
	{ 260, CALL_OTHER, "wait4" },
	{ 269, CALL_SEND, "sendmmsg" },
	{ 426, CALL_WAIT, "io_uring_enter" },
	{ 441, CALL_WAIT, "epoll_pwait2" },
	{ 449, CALL_LOCK, "futex_waitv" },
};

struct calls calls_of(const char *machine)
{
	if (machine && !strcmp(machine, "x86_64"))
		return (struct calls){ x86_64, ARRAY_LEN(x86_64) };
	if (machine && !strcmp(machine, "aarch64"))
		return (struct calls){ generic, ARRAY_LEN(generic) };
	return (struct calls){ NULL, 0 };
}

static const struct call *calls_find(const struct calls *calls, uint32_t nr)
{
	const size_t low = sort_first(i, 0, calls->n, calls->table[i].nr >= nr);

	return low < calls->n && calls->table[low].nr == nr ? &calls->table[low] : NULL;
}

enum call_class calls_class(const struct calls *calls, uint32_t nr)
{
	const struct call *call = calls_find(calls, nr);

	return call ? call->class : CALL_OTHER;
}

const char *calls_name(const struct calls *calls, uint32_t nr)
{
	const struct call *call = calls_find(calls, nr);

	return call ? call->name : NULL;
}
