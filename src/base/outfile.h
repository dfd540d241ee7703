/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result file that appears complete or not at all. It is written in the result's folder without a
 * name (O_TMPFILE: a killed process leaves nothing) or, if the file system cannot do that, with a
 * temporary name, and renamed when it is complete. Only a regular file is replaced this way; a
 * device, a pipe and "-" or NULL (standard output) are written in place.
 *
 * As root, nothing is written through files of other users: see base/folder.h. Errors are -errno;
 * folder_strerror() has their texts.
 */
#ifndef HOSTLAT_BASE_OUTFILE_H
#define HOSTLAT_BASE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct strbuf;

struct outfile {
	bool open;
	int fd;
	int folder; /* descriptor of the file's folder; -1: written in place */
	char *name; /* name in the folder; NULL: written in place */
	char *temp; /* temporary name in the folder; NULL: none (yet) */
	mode_t mode;    /* mode of a new file; 0: the default */
	bool published; /* the file already has its final name */
	int error;  /* 0 or the first failure, as -errno: later writes and the commit return it */
};

/*
 * Returns true if two paths lead to the same file, however they are written: one result would
 * overwrite the other. True for standard output twice; false for a device such as /dev/null.
 */
bool outfile_same(const char *a, const char *b);

/* Opens a file. Returns 0 or -errno; a failure leaves no file behind. */
int outfile_open(struct outfile *file, const char *path);

/* Opens as outfile_open(); a new file gets this mode, less the umask. */
int outfile_open_mode(struct outfile *file, const char *path, mode_t mode);

/*
 * Gives the file its final name now: later writes are visible at once, and stay if the process is
 * killed. Returns 0 or -errno; after an error the old file is untouched.
 */
int outfile_publish(struct outfile *file);

/* Writes all `n` bytes. Returns 0 or the first error of any write (-ENOSPC, -EPIPE ...). */
int outfile_write(struct outfile *file, const void *data, size_t n);

/* Gives the file its final name and closes it. Returns 0 or -errno: the old file is untouched. */
int outfile_commit(struct outfile *file);

/* Closes the file and removes it unless it was committed. Accepts a zeroed struct. */
void outfile_release(struct outfile *file);

/*
 * Writes `text` as a whole file, or to standard output for NULL. Returns 0 or -errno; if `text` has
 * an error, returns that and writes nothing.
 */
int outfile_put(const char *path, const struct strbuf *text);

#endif
