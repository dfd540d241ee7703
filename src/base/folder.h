/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders into which root writes. A user who may change a folder, or a folder above it, can put
 * a symbolic link where a result will be. Root therefore writes only where nobody but root and the
 * user behind sudo can do that. A folder is opened once by name; then its descriptor is used.
 */
#ifndef HOSTLAT_BASE_FOLDER_H
#define HOSTLAT_BASE_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/* Errors that no system call returns for a file; folder_strerror() has their texts. */
#define FOLDER_FOREIGN ENOTUNIQ /* another user can change the folder, or one above it */
#define FOLDER_LINK EMLINK      /* a link, pipe or device that another user has created */

/* Returns the text of an error (-errno), including FOLDER_FOREIGN and FOLDER_LINK. */
const char *folder_strerror(int err);

/* Opens a folder. Returns a descriptor (O_PATH) or -errno. */
int folder_open(const char *path);

/* Opens the folder that contains `path`, as folder_open(). `*name` is the last part of `path`. */
int folder_open_of(const char *path, const char **name);

/*
 * Creates a folder unless it exists. Returns 0 or -errno; -FOLDER_FOREIGN if another user can
 * change the folder or one above it, also if the folder exists already.
 */
int folder_make(const char *path);

/* Returns true if this process runs as root: only then are owners checked. */
bool folder_checks(void);

/* Returns true for root and the user behind sudo; for every user if this process is not root. */
bool folder_trusts(uid_t owner);

/*
 * If the user behind sudo could create a file in this folder, root acts as that user, who then owns
 * new files, until folder_leave(). Returns the value to pass to folder_leave().
 */
bool folder_enter(int folder);
void folder_leave(bool entered);

/* Syncs the folder, so that a rename survives a crash. Ignores file systems that cannot sync. */
void folder_sync(int folder);

#endif
