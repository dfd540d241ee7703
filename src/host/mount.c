/* SPDX-License-Identifier: Apache-2.0 */
#include "host/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define MOUNTINFO_MAX (4 << 20)

/* Unescapes in place: mountinfo writes space, tab, newline and backslash as \ooo. */
static void mount_unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && strspn(s + 1, "01234567") >= 3) {
			*to++ = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* Finds an option in "cgroup cgroup rw,cpu,cpuacct": the file system's own options are last. */
static bool mount_has_option(char *type, const char *option)
{
	char *options = strrchr(type, ' '), *one;

	while (options && (one = strsep(&options, ", ")))
		if (!strcmp(one, option))
			return true;
	return false;
}

/*
 * Splits "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw" into the root
 * within the file system and the mount point. False: another type or option.
 */
static bool mount_split(char *line, const char *wanted, const char *option, const char **fsroot,
			char **point)
{
	char *type = strstr(line, " - ");
	size_t n = strlen(wanted);

	if (!type || strncmp(type + 3, wanted, n) || type[3 + n] != ' ')
		return false;
	*type = '\0';
	if (option && !mount_has_option(type + 3, option))
		return false;
	for (int i = 0; i < 3; i++)
		if (!strsep(&line, " "))
			return false;
	*fsroot = strsep(&line, " ");
	*point = strsep(&line, " ");
	return *point;
}

int host_mount_point(const struct host_root *root, const char *type, char *buf, size_t size)
{
	return host_mount_point_with(root, type, NULL, buf, size);
}

int host_mount_point_with(const struct host_root *root, const char *type, const char *option,
			  char *buf, size_t size)
{
	char *text, *rest, *line, *point;
	const char *fsroot;
	int err;

	err = host_read_all(&text, MOUNTINFO_MAX, "%s/self/mountinfo",
			    host_root_or_live(root)->proc);
	if (err < 0)
		return err;
	err = -ENOENT;
	for (rest = text; (line = host_next_line(&rest));) {
		if (!mount_split(line, type, option, &fsroot, &point))
			continue;
		/* A mount of the whole hierarchy is preferred to a mount of a part. */
		if (!err && strcmp(fsroot, "/"))
			continue;
		mount_unescape(point);
		if ((size_t)snprintf(buf, size, "%s", point) >= size) {
			err = -ENAMETOOLONG;
			break;
		}
		err = 0;
		if (!strcmp(fsroot, "/"))
			break;
	}
	free(text);
	return err;
}

static int mount_detached(const char *type)
{
	int context, fd = -1, err = 0;

	context = fsopen(type, FSOPEN_CLOEXEC);
	if (context < 0)
		return -errno;
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		err = -errno;
	else
		fd = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (!err && fd < 0)
		err = -errno;
	close(context);
	return err ? err : fd;
}

int host_mount_open(const struct host_root *root, const char *type)
{
	char path[HOST_PATH_MAX];
	int err, fd;

	root = host_root_or_live(root);
	err = host_mount_point(root, type, path, sizeof(path));
	if (err == -ENOENT && root->live)
		return mount_detached(type);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
