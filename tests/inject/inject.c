/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, fails one of its calls: HOSTLAT_INJECT="KIND N ERRNO".
 *
 * KIND is one of the names in `kinds` below, N is the number of the call in this process, from 1,
 * and ERRNO is the error's number. With N = 0 nothing fails. HOSTLAT_INJECT_COUNT names a file to
 * which each process appends a line with the number of its calls when it ends, so that a test knows
 * when it has failed every one of them. HOSTLAT_INJECT_WHERE=1 prints the failed call's backtrace.
 *
 * Standard C functions call malloc() and its relatives by their public names, so strdup(),
 * asprintf() and fopen() are covered; what stdio writes by itself is not. With ASan the memory is
 * the sanitizer's, which has functions of its own for what copies strings.
 */
#undef _FILE_OFFSET_BITS /* open() and open64() are two symbols */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "inject.h"

#define FRAMES_MAX 24

enum kind { ALLOC, WRITE, FSYNC, RENAME, LINK, TRUNCATE, OPEN, SOCKET, BPF, MMAP, KINDS };

static const char *const kinds[KINDS] = {
	[ALLOC] = "alloc",   [WRITE] = "write",	      [FSYNC] = "fsync", [RENAME] = "rename",
	[LINK] = "link",     [TRUNCATE] = "truncate", [OPEN] = "open",	 [SOCKET] = "socket",
	[BPF] = "bpf",	     [MMAP] = "mmap",
};

static enum kind chosen = KINDS;
static unsigned long nth;
static int error;
static unsigned long calls;

/* The functions that this file replaces: glibc's own names, and the sanitizer's if it is there. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
__attribute__((weak)) void *__interceptor_malloc(size_t size);
__attribute__((weak)) void *__interceptor_calloc(size_t n, size_t size);
__attribute__((weak)) void *__interceptor_realloc(void *old, size_t size);

static void show_where(void)
{
	void *frames[FRAMES_MAX];

	chosen = KINDS; /* backtrace() allocates */
	backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
}

/* Whether this call of that kind is the one to fail; then errno is set. */
static bool fails(enum kind kind)
{
	unsigned long n;

	if (kind != chosen)
		return false;
	n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (inject_seen)
		inject_seen(n);
	if (n != nth)
		return false;
	if (getenv("HOSTLAT_INJECT_WHERE"))
		show_where();
	errno = error;
	return true;
}

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

void inject_allocation(unsigned long n)
{
	nth = n;
	error = ENOMEM;
	calls = 0;
	chosen = ALLOC;
}

__attribute__((constructor)) static void begin(void)
{
	const char *what = getenv("HOSTLAT_INJECT");
	char name[16];

	if (!what || sscanf(what, "%15s %lu %d", name, &nth, &error) != 3)
		return;
	for (int kind = 0; kind < KINDS; kind++)
		if (!strcmp(name, kinds[kind]))
			chosen = kind;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("HOSTLAT_INJECT_COUNT");
	unsigned long n = calls;
	char line[32];
	int fd, size;

	chosen = KINDS;
	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	size = snprintf(line, sizeof(line), "%lu\n", n);
	if (fd < 0 || write(fd, line, size) != size)
		abort();
	close(fd);
}

void *malloc(size_t size)
{
	if (fails(ALLOC))
		return NULL;
	return __interceptor_malloc ? __interceptor_malloc(size) : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	if (fails(ALLOC))
		return NULL;
	return __interceptor_calloc ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	if (fails(ALLOC))
		return NULL;
	return __interceptor_realloc ? __interceptor_realloc(old, size) :
				       __libc_realloc(old, size);
}

char *strdup(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t max)
{
	const size_t size = strnlen(text, max);
	char *copy = malloc(size + 1);

	if (!copy)
		return NULL;
	copy[size] = '\0';
	return memcpy(copy, text, size);
}

/* A function that takes `parameters` and is called with `arguments`. */
#define REPLACE(kind, type, failed, name, parameters, arguments) \
	type name parameters \
	{ \
		static type(*next) parameters; \
		\
		if (!next) \
			next = (type(*) parameters)real(#name); \
		return fails(kind) ? (failed) : next arguments; \
	}

REPLACE(WRITE, ssize_t, -1, write, (int fd, const void *data, size_t n), (fd, data, n))
REPLACE(WRITE, ssize_t, -1, pwrite, (int fd, const void *data, size_t n, off_t at),
	(fd, data, n, at))
REPLACE(WRITE, ssize_t, -1, pwrite64, (int fd, const void *data, size_t n, off64_t at),
	(fd, data, n, at))
REPLACE(FSYNC, int, -1, fsync, (int fd), (fd))
REPLACE(FSYNC, int, -1, fdatasync, (int fd), (fd))
REPLACE(RENAME, int, -1, rename, (const char *from, const char *to), (from, to))
REPLACE(LINK, int, -1, linkat, (int a, const char *from, int b, const char *to, int flags),
	(a, from, b, to, flags))
REPLACE(TRUNCATE, int, -1, ftruncate, (int fd, off_t size), (fd, size))
REPLACE(TRUNCATE, int, -1, ftruncate64, (int fd, off64_t size), (fd, size))
REPLACE(SOCKET, int, -1, socket, (int family, int type, int protocol), (family, type, protocol))
REPLACE(OPEN, FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
REPLACE(OPEN, FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode))
REPLACE(OPEN, int, -1, memfd_create, (const char *name, unsigned int flags), (name, flags))
REPLACE(MMAP, void *, MAP_FAILED, mmap,
	(void *at, size_t size, int access, int flags, int fd, off_t offset),
	(at, size, access, flags, fd, offset))
REPLACE(MMAP, void *, MAP_FAILED, mmap64,
	(void *at, size_t size, int access, int flags, int fd, off64_t offset),
	(at, size, access, flags, fd, offset))

/* The mode is there only with some flags. */
static mode_t mode_of(int flags, va_list *arguments)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(*arguments, mode_t) : 0;
}

#define REPLACE_OPEN(name) \
	int name(const char *path, int flags, ...) \
	{ \
		static int (*next)(const char *, int, ...); \
		va_list arguments; \
		mode_t mode; \
		\
		va_start(arguments, flags); \
		mode = mode_of(flags, &arguments); \
		va_end(arguments); \
		if (!next) \
			next = (int (*)(const char *, int, ...))real(#name); \
		return fails(OPEN) ? -1 : next(path, flags, mode); \
	}

#define REPLACE_OPENAT(name) \
	int name(int folder, const char *path, int flags, ...) \
	{ \
		static int (*next)(int, const char *, int, ...); \
		va_list arguments; \
		mode_t mode; \
		\
		va_start(arguments, flags); \
		mode = mode_of(flags, &arguments); \
		va_end(arguments); \
		if (!next) \
			next = (int (*)(int, const char *, int, ...))real(#name); \
		return fails(OPEN) ? -1 : next(folder, path, flags, mode); \
	}

REPLACE_OPEN(open)
REPLACE_OPEN(open64)
REPLACE_OPENAT(openat)
REPLACE_OPENAT(openat64)

/* libbpf makes its calls by this. */
long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (!next)
		next = (long (*)(long, ...))real("syscall");
	if (number == SYS_bpf && fails(BPF))
		return -1;
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
