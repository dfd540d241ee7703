/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invoker.h"

#define OPEN_FOLDER (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define OVERFLOW_UID 65534 /* owner of files whose user has no mapping in the user namespace */

const char *folder_strerror(int err)
{
	switch (-err) {
	case FOLDER_FOREIGN:
		return "another user can change this folder or a folder above it, and root does "
		       "not write there: choose a folder that only you can change";
	case FOLDER_LINK:
		return "another user created this link, pipe or device, and root does not write "
		       "through it: remove it or choose another name";
	default:
		return strerror(-err);
	}
}

bool folder_checks(void)
{
	return geteuid() == 0;
}

/* Returns true in the initial user namespace; in others, root has only its creator's rights. */
static bool folder_is_real_root(void)
{
	unsigned long inside, outside, count = 0;
	FILE *file = fopen("/proc/self/uid_map", "re");

	if (!file)
		return true;
	if (fscanf(file, "%lu %lu %lu", &inside, &outside, &count) != 3)
		count = UINT_MAX;
	fclose(file);
	return count == UINT_MAX;
}

bool folder_trusts(uid_t owner)
{
	struct invoker invoker;

	if (!folder_checks() || owner == 0)
		return true;
	if (invoker_find(&invoker) && owner == invoker.uid)
		return true;
	return owner == OVERFLOW_UID && !folder_is_real_root();
}

/*
 * Returns true if a trusted user owns the folder and others cannot exchange its entries: it is not
 * world-writable, or it is sticky, so that users can rename and remove only their own entries.
 */
static bool folder_is_safe(int folder)
{
	struct stat st;

	return !fstat(folder, &st) && folder_trusts(st.st_uid) &&
	       (!(st.st_mode & S_IWOTH) || st.st_mode & S_ISVTX);
}

/*
 * Opens the folder at `path`, which has no symbolic links, from the root down, part by part. Once a
 * parent folder is open and safe, no other user can exchange the part below it. Returns a
 * descriptor or -errno. The walk starts at /proc/self/root: under qemu-user "/" is the folder of
 * the program's libraries.
 */
static int folder_walk(char *path)
{
	int folder = open("/proc/self/root", OPEN_FOLDER), next;
	char *rest = NULL;

	for (char *part = strtok_r(path, "/", &rest); folder >= 0 && part;
	     part = strtok_r(NULL, "/", &rest)) {
		if (!folder_is_safe(folder)) {
			close(folder);
			return -FOLDER_FOREIGN;
		}
		next = invoker_openat(folder, part, OPEN_FOLDER | O_NOFOLLOW);
		close(folder);
		if (next < 0)
			return next;
		folder = next;
	}
	if (folder >= 0 && !folder_is_safe(folder)) {
		close(folder);
		return -FOLDER_FOREIGN;
	}
	return folder < 0 ? -errno : folder;
}

int folder_open(const char *path)
{
	int folder = invoker_open(path, OPEN_FOLDER), err;
	char link[32], real[PATH_MAX];
	ssize_t n;

	if (folder < 0 || !folder_checks())
		return folder;
	/*
	 * This link holds the open folder's path without symbolic links: open(2) has followed them,
	 * by the kernel's own rules (fs.protected_symlinks).
	 */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	n = readlink(link, real, sizeof(real) - 1);
	if (n < 0) {
		err = folder_is_safe(folder) ? folder : -FOLDER_FOREIGN;
	} else {
		real[n] = '\0';
		err = folder_walk(real);
	}
	if (err != folder)
		close(folder);
	return err;
}

int folder_open_of(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int fd;

	*name = slash ? slash + 1 : path;
	if (!**name)
		return *path ? -EISDIR : -ENOENT;
	folder = !slash ? strdup(".") : slash == path ? strdup("/") :
		 strndup(path, (size_t)(slash - path));
	if (!folder)
		return -ENOMEM;
	fd = folder_open(folder);
	free(folder);
	return fd;
}

bool folder_enter(int folder)
{
	struct invoker invoker;
	struct stat st;

	if (!invoker_find(&invoker) || fstat(folder, &st))
		return false;
	return (st.st_uid == invoker.uid || st.st_mode & S_IWOTH) && invoker_enter();
}

void folder_leave(bool entered)
{
	if (entered)
		invoker_leave();
}

/* Creates a folder in `parent`. Returns 0, -EEXIST or another -errno. */
static int folder_make_in(int parent, const char *name)
{
	const bool entered = folder_enter(parent);
	int err = mkdirat(parent, name, 0750) ? -errno : 0;

	folder_leave(entered);
	return err;
}

int folder_make(const char *path)
{
	char *trimmed = strdup(path);
	size_t len = trimmed ? strlen(trimmed) : 0;
	const char *name;
	int fd, err;

	if (!trimmed)
		return -ENOMEM;
	while (len > 1 && trimmed[len - 1] == '/')
		trimmed[--len] = '\0';
	fd = folder_open_of(trimmed, &name);
	err = fd == -EISDIR ? -EEXIST : fd < 0 ? fd : folder_make_in(fd, name);
	if (fd >= 0)
		close(fd);
	if (err == -EEXIST) {
		fd = folder_open(trimmed);
		err = fd < 0 ? fd : 0;
		if (fd >= 0)
			close(fd);
	}
	free(trimmed);
	return err;
}

void folder_sync(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}
