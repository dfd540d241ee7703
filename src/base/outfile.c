/* SPDX-License-Identifier: Apache-2.0 */
/* A result file that appears complete or not at all. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/folder.h"
#include "base/invoker.h"
#include "base/stop.h"
#include "base/strbuf.h"

#define TEMP_TRIES 16
#define LINKS_MAX 16
#define ROOT_MODE 0640 /* not 0644: results name other users' connections and programs */

static bool outfile_is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

/* Path by which linkat(2) names a nameless file; see O_TMPFILE in open(2). */
struct outfile_handle {
	char path[32];
};

static struct outfile_handle outfile_file_handle(const struct outfile *file)
{
	struct outfile_handle h;

	snprintf(h.path, sizeof(h.path), "/proc/self/fd/%d", file->fd);
	return h;
}

static bool outfile_open_nameless(struct outfile *file, mode_t mode)
{
	file->fd = openat(file->folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	if (file->fd >= 0 && access(outfile_file_handle(file).path, F_OK)) {
		close(file->fd);
		file->fd = -1;
	}
	return file->fd >= 0;
}

static bool outfile_make_file(struct outfile *file, mode_t mode)
{
	if (file->fd >= 0)
		return !linkat(AT_FDCWD, outfile_file_handle(file).path, file->folder, file->temp,
			       AT_SYMLINK_FOLLOW);
	file->fd = openat(file->folder, file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return file->fd >= 0;
}

/*
 * Gives the nameless file a temporary name, or creates a file with that name. The name is in the
 * same folder, so that the rename stays within a file system.
 */
static int outfile_make_temp(struct outfile *file, mode_t mode)
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		if (asprintf(&file->temp, "%s.%ld.%d.tmp", file->name, (long)getpid(), i) < 0) {
			file->temp = NULL;
			return -ENOMEM;
		}
		if (outfile_make_file(file, mode))
			return 0;
		free(file->temp);
		file->temp = NULL;
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

/* Replaces *path by a link's target. Only for root's own links: other users' may lead anywhere. */
static int outfile_follow_link(int folder, const char *name, char **path)
{
	char target[PATH_MAX], place[PATH_MAX], self[32];
	ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1), m;

	if (n < 0)
		return -errno;
	target[n] = '\0';
	snprintf(self, sizeof(self), "/proc/self/fd/%d", folder);
	m = *target == '/' ? 0 : readlink(self, place, sizeof(place) - 1);
	if (m < 0)
		return -errno;
	place[m] = '\0';
	free(*path);
	if (asprintf(path, "%s%s%s", place, m ? "/" : "", target) < 0) {
		*path = NULL;
		return -ENOMEM;
	}
	return 0;
}

static bool outfile_is_link(int folder, const char *name, struct stat *st)
{
	const bool entered = folder_enter(folder);
	bool is = !fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st->st_mode);

	folder_leave(entered);
	return is;
}

/*
 * Finds the folder and the name of `path` through symbolic links: a link stays, and its target is
 * replaced. A dangling link is itself replaced.
 */
static int outfile_find_folder(struct outfile *file, const char *path, bool exists)
{
	char *at = strdup(path);
	const char *name = NULL;
	struct stat st;
	int err = at ? 0 : -ENOMEM;

	for (int links = 0; !err; links++) {
		file->folder = folder_open_of(at, &name);
		if (file->folder < 0)
			err = file->folder;
		else if (!exists || !outfile_is_link(file->folder, name, &st))
			break;
		else if (folder_checks() && st.st_uid != 0)
			err = -FOLDER_LINK;
		else
			err = links < LINKS_MAX ? outfile_follow_link(file->folder, name, &at)
						: -ELOOP;
		if (file->folder >= 0)
			close(file->folder);
		file->folder = -1;
	}
	if (!err)
		file->name = strdup(name);
	free(at);
	return err ? err : file->name ? 0 : -ENOMEM;
}

/*
 * Opens the new file. `mode`: mode of the file that it replaces; 0: the default. Returns 0 or
 * -errno.
 */
static int outfile_open_new(struct outfile *file, bool exists, mode_t mode)
{
	const mode_t usual = file->mode ? file->mode : folder_checks() ? ROOT_MODE : 0666;
	/* A rename would ignore the old file's write protection. */
	const bool writable = !exists || !faccessat(file->folder, file->name, W_OK, AT_EACCESS);
	const bool entered = folder_enter(file->folder);
	int err = 0;

	if (!writable && faccessat(file->folder, file->name, W_OK, AT_EACCESS))
		err = -errno;
	if (!err && !outfile_open_nameless(file, usual))
		err = outfile_make_temp(file, usual);
	if (!err && mode && fchmod(file->fd, mode))
		err = -errno;
	folder_leave(entered);
	return err;
}

static int outfile_open_beside(struct outfile *file, const char *path, const struct stat *old)
{
	int err = outfile_find_folder(file, path, old);

	if (err)
		return err;
	/* An old file keeps its mode if its owner is trusted: others must not choose the mode. */
	return outfile_open_new(file, old,
				old && folder_trusts(old->st_uid) ? old->st_mode & 0777 : 0);
}

/* Identity of a file, which exists or is to be created: compared by device, inode and name. */
struct outfile_place {
	dev_t dev;
	ino_t ino;
	/* "": the file exists and has inode `ino`; else its name in the folder with inode `ino` */
	const char *name;
};

static bool outfile_find_place(const char *path, struct outfile_place *place)
{
	const char *slash;
	char *folder;
	struct stat st;
	bool found;

	*place = (struct outfile_place){ .name = "" };
	found = (outfile_is_stdout(path) ? !fstat(STDOUT_FILENO, &st) : invoker_stat(path, &st));
	if (found && S_ISCHR(st.st_mode))
		return false;
	if (!found && !outfile_is_stdout(path)) {
		slash = strrchr(path, '/');
		place->name = slash ? slash + 1 : path;
		folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
		found = folder && invoker_stat(folder, &st);
		free(folder);
	}
	if (found) {
		place->dev = st.st_dev;
		place->ino = st.st_ino;
	}
	return found;
}

bool outfile_same(const char *a, const char *b)
{
	struct outfile_place x, y;

	if (outfile_is_stdout(a) && outfile_is_stdout(b))
		return true;
	return outfile_find_place(a, &x) && outfile_find_place(b, &y) && x.dev == y.dev &&
	       x.ino == y.ino && !strcmp(x.name, y.name);
}

/* Returns true for a pipe or link of another user, who could read or redirect the result. */
static bool outfile_is_trap(const char *path)
{
	struct stat st;

	if (!folder_checks() || lstat(path, &st))
		return false;
	return S_ISLNK(st.st_mode) ? st.st_uid != 0 :
	       S_ISFIFO(st.st_mode) && !folder_trusts(st.st_uid);
}

static int outfile_open_in_place(const char *path)
{
	return outfile_is_trap(path) ? -FOLDER_LINK : stop_open(path, O_WRONLY | O_CLOEXEC, 0);
}

int outfile_open_mode(struct outfile *file, const char *path, mode_t mode)
{
	struct stat st;
	bool exists;
	int err = 0;

	*file = (struct outfile){ .open = true, .folder = -1, .mode = mode };
	if (outfile_is_stdout(path)) {
		file->fd = STDOUT_FILENO;
		return 0;
	}
	file->fd = -1;
	exists = invoker_stat(path, &st);
	if (exists && !S_ISREG(st.st_mode)) {
		file->fd = outfile_open_in_place(path);
		err = file->fd < 0 ? file->fd : 0;
	} else {
		err = outfile_open_beside(file, path, exists ? &st : NULL);
	}
	if (err)
		outfile_release(file);
	return err;
}

int outfile_open(struct outfile *file, const char *path)
{
	return outfile_open_mode(file, path, 0);
}

int outfile_write(struct outfile *file, const void *data, size_t n)
{
	const char *from = data;

	BUG_ON(!file->open);
	while (n && !file->error) {
		ssize_t written = stop_write(file->fd, from, n);

		if (written == -EINTR)
			continue;
		if (written < 0) {
			file->error = (int)written;
			break;
		}
		from += written;
		n -= (size_t)written;
	}
	return file->error;
}

static int outfile_put_in_place(struct outfile *file)
{
	const bool entered = folder_enter(file->folder);
	int err = file->temp ? 0 : outfile_make_temp(file, 0);

	if (!err && renameat(file->folder, file->temp, file->folder, file->name))
		err = -errno;
	folder_leave(entered);
	/*
	 * In a sticky folder such as /tmp, the user behind sudo cannot replace a file that root
	 * owns: the rename is repeated as root.
	 */
	if (err && entered && file->temp &&
	    !renameat(file->folder, file->temp, file->folder, file->name))
		err = 0;
	if (err)
		return err;
	free(file->temp);
	file->temp = NULL;
	file->published = true;
	return 0;
}

int outfile_publish(struct outfile *file)
{
	BUG_ON(!file->open);
	if (!file->error && file->name && !file->published)
		file->error = outfile_put_in_place(file);
	return file->error;
}

/* Syncs the data: with delayed allocation, a full disk is reported only here. */
static int outfile_sync_data(struct outfile *file)
{
	int fd = file->fd, err = 0;

	if (file->name && fsync(fd))
		err = -errno;
	if (!err && file->name && !file->published)
		err = outfile_put_in_place(file);
	if (!err && file->name)
		folder_sync(file->folder);
	file->fd = -1;
	if (fd != STDOUT_FILENO && close(fd) && !err)
		err = -errno;
	return err;
}

int outfile_commit(struct outfile *file)
{
	BUG_ON(!file->open);
	if (!file->error)
		file->error = outfile_sync_data(file);
	outfile_release(file);
	return file->error;
}

void outfile_release(struct outfile *file)
{
	int error;

	if (!file || !file->open)
		return;
	error = file->error;
	if (file->fd >= 0 && file->fd != STDOUT_FILENO)
		close(file->fd);
	if (file->temp) {
		const bool entered = folder_enter(file->folder);

		unlinkat(file->folder, file->temp, 0);
		folder_leave(entered);
	}
	if (file->folder >= 0)
		close(file->folder);
	free(file->temp);
	free(file->name);
	*file = (struct outfile){ .error = error };
}

int outfile_put(const char *path, const struct strbuf *text)
{
	struct outfile file = { 0 };
	int err = text->error ? text->error : outfile_open(&file, path);

	if (!err)
		err = outfile_write(&file, strbuf_str(text), text->len);
	if (!err)
		err = outfile_commit(&file);
	outfile_release(&file);
	return err;
}
