/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel's file systems are, and how to read their small files.
 *
 * Everything in src/host takes a struct host_root, so that tests describe a machine as a tree of
 * files. NULL stands for the live machine.
 *
 * Errors: 0 or a length, or -errno. Files in /proc vanish while they are read: -ENOENT and -ESRCH
 * are ordinary answers.
 */
#ifndef HOSTLAT_HOST_ROOT_H
#define HOSTLAT_HOST_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_root {
	const char *proc;         /* "/proc" */
	const char *sys;          /* "/sys" */
	const char *run;          /* "/run" */
	const char *boot;         /* "/boot": kernel configurations */
	bool live;                /* system calls, sockets and ioctls describe this machine too */
};

extern const struct host_root host_root_live;

#define HOST_PATH_MAX 512

/* NULL becomes &host_root_live. */
const struct host_root *host_root_or_live(const struct host_root *root);

/*
 * The file named by `fmt`, as a string without the white space at its end. What does not fit into
 * `size` is cut. Returns the length.
 */
int host_read(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A file that holds one unsigned decimal number; -EINVAL: it holds something else. */
int host_read_u64(uint64_t *value, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As host_read(), but inside the folder `dir`. */
int host_read_at(int dir, const char *name, char *buf, size_t size);

/* The whole of a file of at most `max` bytes, as a string that the caller frees. */
int host_read_all(char **text, size_t max, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Calls `visit` for each entry of the folder named by `fmt` (not for those that begin with a
 * dot), in the kernel's order, at most `max` times. Stops when it returns non-zero and returns
 * that. -E2BIG: there were more.
 */
int host_each_entry(int (*visit)(void *ctx, const char *name), void *ctx, size_t max,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Cuts the next line off `*text`, which it changes: returns the line, or NULL at the end.
 */
char *host_next_line(char **text);

#endif
