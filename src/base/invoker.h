/* SPDX-License-Identifier: Apache-2.0 */
/* The user who started this root process by sudo, which passes that user's IDs on. */
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
 * Returns true if this process runs as root by sudo, started by another user. SUDO_UID and SUDO_GID
 * are trusted only for root: whoever can set root's environment is root already.
 */
bool invoker_find(struct invoker *invoker);

/* Saves the user's IDs, so that the functions below work after capabilities are given up. */
bool invoker_remember(void);

/*
 * Switches to the user behind sudo, who opens and owns files until invoker_leave(). Returns false
 * if no such user started this process, or if the switch fails.
 */
bool invoker_enter(void);
void invoker_leave(void);

/*
 * Open an existing file as open(2) does, but return -errno. A file that root may not read without
 * capabilities is opened as the user behind sudo, who may own it.
 */
int invoker_open(const char *path, int flags);
int invoker_openat(int folder, const char *path, int flags);

/* Calls stat(2); if that is refused (EACCES), as the user behind sudo. Returns true on success. */
bool invoker_stat(const char *path, struct stat *st);

#endif
