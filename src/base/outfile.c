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

#define TEMP_TRIES 16

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

/* The temporary file lies in the same folder, so that the rename cannot cross a file system. */
static int open_temp(struct outfile *file)
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		if (asprintf(&file->temp, "%s.%ld.%d.tmp", file->path, (long)getpid(), i) < 0) {
			file->temp = NULL;
			return -ENOMEM;
		}
		file->fd = open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (file->fd >= 0)
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
	err = open_temp(file);
	if (!err && old && fchmod(file->fd, old->st_mode & 0777))
		err = -errno;
	return err;
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
		file->fd = open(path, O_WRONLY | O_CLOEXEC);
		err = file->fd < 0 ? -errno : 0;
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
		ssize_t written = write(file->fd, from, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			file->error = -errno;
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

	if (file->temp && fsync(fd))
		err = -errno;
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
