/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders that root writes into. Whoever may change a folder, or one above it, can put a
 * symbolic link where a result will be. Root therefore writes only where nobody but root and the
 * user behind sudo can do that. A folder is named once; then its descriptor is used.
 */
#ifndef HOSTLAT_BASE_FOLDER_H
#define HOSTLAT_BASE_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/* Errors that no system call returns for a file; folder_strerror() has their texts. */
#define FOLDER_FOREIGN ENOTUNIQ /* another user can change the folder or one above it */
#define FOLDER_LINK EMLINK      /* a link, a pipe or a device that another user has made */

/* The text of an error (-errno), also of the two above. */
const char *folder_strerror(int err);

/* Opens a folder. Returns a descriptor (O_PATH) or -errno. */
int folder_open(const char *path);

/* Opens the folder that `path` lies in. `*name` is the last part of `path`. */
int folder_open_of(const char *path, const char **name);

/* Makes a folder, unless it is there. Returns 0 or -errno; -FOLDER_FOREIGN also for an old one. */
int folder_make(const char *path);

/* Returns true if this process runs as root: only then are owners checked. */
bool folder_checks(void);

/* Returns true for root and the user behind sudo; for every user if this process is not root. */
bool folder_trusts(uid_t owner);

/*
 * If the user behind sudo could make a file in this folder himself, root does what follows as that
 * user: the file belongs to him then. To be ended by folder_leave() with what this returns.
 */
bool folder_enter(int folder);
void folder_leave(bool entered);

/* Syncs the folder, so that a rename survives a crash. A file system that can't is no error. */
void folder_sync(int folder);

#endif
