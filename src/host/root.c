/* SPDX-License-Identifier: Apache-2.0 */
#include "host/root.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"

const struct host_root host_root_live = {
	.proc = "/proc",
	.sys = "/sys",
	.run = "/run",
	.boot = "/boot",
	.live = true,
};

const struct host_root *host_root_or_live(const struct host_root *root)
{
	return root ? root : &host_root_live;
}

static int root_format_path(char *path, const char *fmt, va_list args)
{
	int n = vsnprintf(path, HOST_PATH_MAX, fmt, args);

	return n < 0 ? -EINVAL : n >= HOST_PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Reads up to `size` bytes: a read(2) of a file in /proc may return less than there is. */
static ssize_t root_read_full(int fd, char *buf, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(fd, buf + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += n;
	}
	return got;
}

int host_read_at(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	n = root_read_full(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return n;
	while (n > 0 && isspace((unsigned char)buf[n - 1]))
		n--;
	buf[n] = '\0';
	return n;
}

int host_read(char *buf, size_t size, const char *fmt, ...)
{
	char path[HOST_PATH_MAX];
	va_list args;
	int err;

	buf[0] = '\0';
	va_start(args, fmt);
	err = root_format_path(path, fmt, args);
	va_end(args);
	return err ? err : host_read_at(AT_FDCWD, path, buf, size);
}

int host_read_u64(uint64_t *value, const char *fmt, ...)
{
	char path[HOST_PATH_MAX], text[32];
	va_list args;
	int err;

	va_start(args, fmt);
	err = root_format_path(path, fmt, args);
	va_end(args);
	if (err)
		return err;
	err = host_read_at(AT_FDCWD, path, text, sizeof(text));
	return err < 0 ? err : parse_u64(text, value);
}

int host_read_all(char **text, size_t max, const char *fmt, ...)
{
	char path[HOST_PATH_MAX], *buf = NULL;
	ssize_t n = 0;
	va_list args;
	int fd = -1, err;

	*text = NULL;
	va_start(args, fmt);
	err = root_format_path(path, fmt, args);
	va_end(args);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	buf = malloc(max + 1);
	if (!buf)
		err = -ENOMEM;
	else if ((n = root_read_full(fd, buf, max)) < 0)
		err = n;
	close(fd);
	if (err) {
		free(buf);
		return err;
	}
	buf[n] = '\0';
	*text = buf;
	return n;
}

int host_each_entry(int (*visit)(void *ctx, const char *name), void *ctx, size_t max,
		    const char *fmt, ...)
{
	char path[HOST_PATH_MAX];
	struct dirent *entry;
	va_list args;
	int err;
	DIR *dir;

	va_start(args, fmt);
	err = root_format_path(path, fmt, args);
	va_end(args);
	if (err)
		return err;
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		err = max ? visit(ctx, entry->d_name) : -E2BIG;
		max--;
	}
	closedir(dir);
	return err;
}

char *host_next_line(char **text)
{
	char *line = *text, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end++ = '\0';
	*text = end ? end : line + strlen(line);
	return line;
}
