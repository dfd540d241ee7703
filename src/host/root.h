/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of the kernel's file systems, and functions to read their small files.
 *
 * All functions of src/host take a struct host_root, so that tests can describe a machine as a tree
 * of files. NULL means the live machine.
 *
 * Functions return 0 or a length, or -errno. Files in /proc vanish while they are read: -ENOENT and
 * -ESRCH are ordinary results.
 */
#ifndef HOSTLAT_HOST_ROOT_H
#define HOSTLAT_HOST_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_root {
	const char *proc;         /* path of "/proc" */
	const char *sys;          /* path of "/sys" */
	const char *run;          /* path of "/run" */
	const char *boot;         /* path of "/boot", which has kernel configurations */
	bool live;                /* also describe this machine by system calls, sockets, ioctls */
};

extern const struct host_root host_root_live;

#define HOST_PATH_MAX 512

/* Returns `root`, or &host_root_live for NULL. */
const struct host_root *host_root_or_live(const struct host_root *root);

/*
 * Reads the file named by `fmt` as a string without trailing white space, truncated to `size`
 * bytes. Returns the length or -errno.
 */
int host_read(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Reads a file with one unsigned decimal number; -EINVAL: other content. */
int host_read_u64(uint64_t *value, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As host_read(), for a file in the folder `dir`. */
int host_read_at(int dir, const char *name, char *buf, size_t size);

/* Reads a whole file of at most `max` bytes, as a string that the caller frees. */
int host_read_all(char **text, size_t max, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Calls `visit` for each entry of the folder named by `fmt` (not for names that begin with a dot),
 * in the kernel's order, at most `max` times. If `visit` returns non-zero, stops and returns that.
 * -E2BIG: there were more entries.
 */
int host_each_entry(int (*visit)(void *ctx, const char *name), void *ctx, size_t max,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Cuts the next line off `*text`, which changes. Returns the line; NULL at the end. */
char *host_next_line(char **text);

#endif
