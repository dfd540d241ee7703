/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result file that is there whole or not at all: written beside its place under a temporary name
 * and renamed when it is complete. Only a regular file is replaced so; a device, a pipe and "-" or
 * NULL (standard output) are written in place.
 */
#ifndef HOSTLAT_BASE_OUTFILE_H
#define HOSTLAT_BASE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>

struct outfile {
	bool open;
	int fd;
	char *path; /* where it will be; NULL: written in place */
	char *temp; /* where it is now; NULL: written in place */
	int error;  /* 0 or the first failure of a write, as -errno: nothing is committed then */
};

/* Returns 0 or -errno; nothing is left behind when it fails. */
int outfile_open(struct outfile *file, const char *path);

/* Writes all of it. Returns 0 or the first error ever met (-ENOSPC, -EPIPE ...). */
int outfile_write(struct outfile *file, const void *data, size_t n);

/* Puts the file in its place and closes it. Returns 0 or -errno; then the old file is untouched. */
int outfile_commit(struct outfile *file);

/* Closes and removes what was not committed. Accepts a zeroed struct. */
void outfile_release(struct outfile *file);

#endif
