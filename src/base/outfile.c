/* SPDX-License-Identifier: Apache-2.0 */
/* A result file that is there whole or not at all. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/stop.h"

#define TEMP_TRIES 16

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

/* How a file without a name is given one; open(2), O_TMPFILE. */
struct handle {
	char path[32];
};

static struct handle handle(const struct outfile *file)
{
	struct handle h;

	snprintf(h.path, sizeof(h.path), "/proc/self/fd/%d", file->fd);
	return h;
}

static bool open_nameless(struct outfile *file)
{
	char *folder = strdup(file->path), *slash = folder ? strrchr(folder, '/') : NULL;

	if (slash)
		slash[slash == folder] = '\0';
	if (folder)
		file->fd = open(slash ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	free(folder);
	if (file->fd >= 0 && access(handle(file).path, F_OK)) {
		close(file->fd);
		file->fd = -1;
	}
	return file->fd >= 0;
}

static bool make(struct outfile *file)
{
	if (file->fd >= 0)
		return !linkat(AT_FDCWD, handle(file).path, AT_FDCWD, file->temp,
			       AT_SYMLINK_FOLLOW);
	file->fd = open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return file->fd >= 0;
}

/*
 * A new file or, if there is one without a name, that gets the name. In the same folder, so that
 * the rename cannot cross a file system.
 */
static int make_temp(struct outfile *file)
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		if (asprintf(&file->temp, "%s.%ld.%d.tmp", file->path, (long)getpid(), i) < 0) {
			file->temp = NULL;
			return -ENOMEM;
		}
		if (make(file))
			return 0;
		free(file->temp);
		file->temp = NULL;
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

/* A symbolic link stays one: the file that it names is replaced. */
static int open_beside(struct outfile *file, const char *path, const struct stat *old)
{
	int err;

	file->path = old ? realpath(path, NULL) : strdup(path);
	if (!file->path)
		return -errno;
	/* Renaming would get round a file's own write protection. */
	if (old && access(file->path, W_OK))
		return -errno;
	err = open_nameless(file) ? 0 : make_temp(file);
	if (!err && old && fchmod(file->fd, old->st_mode & 0777))
		err = -errno;
	return err;
}

/* A file that is there; or one that will be, by its folder and its name. */
struct place {
	dev_t dev;
	ino_t ino;
	const char *name; /* "": it is there */
};

static bool find_place(const char *path, struct place *place)
{
	const char *slash;
	char *folder;
	struct stat st;
	bool found;

	*place = (struct place){ .name = "" };
	found = (is_stdout(path) ? fstat(STDOUT_FILENO, &st) : stat(path, &st)) == 0;
	if (found && S_ISCHR(st.st_mode))
		return false;
	if (!found && !is_stdout(path)) {
		slash = strrchr(path, '/');
		place->name = slash ? slash + 1 : path;
		folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
		found = folder && stat(folder, &st) == 0;
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
	struct place x, y;

	if (is_stdout(a) && is_stdout(b))
		return true;
	return find_place(a, &x) && find_place(b, &y) && x.dev == y.dev && x.ino == y.ino &&
	       !strcmp(x.name, y.name);
}

int outfile_open(struct outfile *file, const char *path)
{
	struct stat st;
	bool exists;
	int err = 0;

	*file = (struct outfile){ .open = true };
	if (is_stdout(path)) {
		file->fd = STDOUT_FILENO;
		return 0;
	}
	file->fd = -1;
	exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		file->fd = stop_open(path, O_WRONLY | O_CLOEXEC, 0);
		err = file->fd < 0 ? file->fd : 0;
	} else {
		err = open_beside(file, path, exists ? &st : NULL);
	}
	if (err)
		outfile_release(file);
	return err;
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

/* Delayed allocation reports a full disk only here. */
static int flush_and_close(struct outfile *file)
{
	int fd = file->fd;
	int err = 0;

	if (file->path && fsync(fd))
		err = -errno;
	if (!err && file->path && !file->temp)
		err = make_temp(file);
	file->fd = -1;
	if (fd != STDOUT_FILENO && close(fd) && !err)
		err = -errno;
	return err;
}

int outfile_commit(struct outfile *file)
{
	BUG_ON(!file->open);
	if (!file->error)
		file->error = flush_and_close(file);
	if (!file->error && file->temp && rename(file->temp, file->path))
		file->error = -errno;
	if (!file->error) {
		free(file->temp);
		file->temp = NULL;
	}
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
	if (file->temp)
		unlink(file->temp);
	free(file->temp);
	free(file->path);
	*file = (struct outfile){ .error = error };
}
