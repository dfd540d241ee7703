/* SPDX-License-Identifier: Apache-2.0 */
/* The user behind root: sudo tells who has started this process. */
#ifndef HOSTLAT_BASE_INVOKER_H
#define HOSTLAT_BASE_INVOKER_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct invoker {
	uid_t uid;
	gid_t gid;
};

/*
 * True if this process runs as root by sudo, and a user other than root has started it. The
 * variables are trusted for root only: whoever can set root's environment is root already.
 */
bool invoker_find(struct invoker *invoker);

/* Remembers the capabilities for it: the functions below then work after they are given up. */
bool invoker_remember(void);

/* From here to invoker_leave(), files are opened and made as that user. False: there is none. */
bool invoker_enter(void);
void invoker_leave(void);

/*
 * As open(2) of a file that is there, but returns -errno. What root may not read without
 * capabilities, the user behind sudo may: the own files.
 */
int invoker_open(const char *path, int flags);
int invoker_openat(int folder, const char *path, int flags);

/* As stat(2), with invoker_open()'s rights. Returns whether there is a file. */
bool invoker_stat(const char *path, struct stat *st);

#endif
