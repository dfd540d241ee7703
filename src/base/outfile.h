/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result file that is there whole or not at all: written in its place's folder without a name
 * (O_TMPFILE; a process that is killed leaves nothing then) or, where the file system can't, under
 * a temporary one, and renamed when it is complete. Only a regular file is replaced so; a device, a
 * pipe and "-" or NULL (standard output) are written in place.
 *
 * As root, nothing is written through what another user could have put there: see base/folder.h.
 * Errors are -errno; folder_strerror() has their texts.
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
	int folder; /* the folder of the file; -1: written in place */
	char *name; /* its name there; NULL: written in place */
	char *temp; /* its temporary name there; NULL: none (yet) */
	mode_t mode;    /* mode of a new file; 0: the default */
	bool published; /* the file has its name already */
	int error;  /* 0 or the first failure of a write, as -errno: nothing is committed then */
};

/*
 * Whether two of these paths are one place, however they are written: one result would overwrite
 * the other. A device such as /dev/null is nobody's place; standard output is one.
 */
bool outfile_same(const char *a, const char *b);

/* Returns 0 or -errno; nothing is left behind when it fails. */
int outfile_open(struct outfile *file, const char *path);

/* As outfile_open(); a new file gets this mode, less the umask. */
int outfile_open_mode(struct outfile *file, const char *path, mode_t mode);

/*
 * Puts the file in its place now: what is written to it can be read from then on, and stays if the
 * process is killed. Returns 0 or -errno; then the old file is untouched.
 */
int outfile_publish(struct outfile *file);

/* Writes all of it. Returns 0 or the first error ever met (-ENOSPC, -EPIPE ...). */
int outfile_write(struct outfile *file, const void *data, size_t n);

/* Puts the file in its place and closes it. Returns 0 or -errno; then the old file is untouched. */
int outfile_commit(struct outfile *file);

/* Closes and removes what was not committed. Accepts a zeroed struct. */
void outfile_release(struct outfile *file);

/* Writes `text` as a whole file, or to standard output for NULL. 0 or -errno. */
int outfile_put(const char *path, const struct strbuf *text);

#endif
