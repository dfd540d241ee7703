/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bug.h"
#include "host/mount.h"

#define CONTAINER_ID_LEN 64
#define SHORT_ID_LEN     12      /* length of an id in docker ps */

/*
 * A path component that is a container. `parent` (NULL: any) is the previous component; a '*' at
 * its end matches any rest. The text between prefix and suffix is the id or, with `named`, a name
 * chosen by the manager.
 */
struct container_rule {
	const char *manager;
	const char *parent;
	const char *prefix, *suffix;
	bool named;
};

static const struct container_rule container_rules[] = {
	/* systemd as cgroup driver: one scope per container. */
	{ "docker", NULL, "docker-", ".scope", false },
	{ "containerd", NULL, "cri-containerd-", ".scope", false },
	{ "containerd", NULL, "nerdctl-", ".scope", false },
	{ "cri-o", NULL, "crio-", ".scope", false },
	{ "podman", NULL, "libpod-", ".scope", false },
	{ "nspawn", "machine.slice", "machine-", ".scope", true },
	{ "nspawn", "machine.slice", "systemd-nspawn@", ".service", true },
	/* cgroupfs as driver: plain folders. */
	{ "docker", "docker", "", "", false },
	{ "podman", NULL, "libpod-", "", false },
	{ "cri-o", NULL, "crio-", "", false },
	{ "containerd", "k8s.io", "", "", false },
	{ "kubernetes", "pod*", "", "", false },
	{ "kubernetes", "kubepods*", "", "", false },
	/* Systemd-style names with the cgroupfs driver: SLICE:cri-containerd:ID. */
	{ "containerd", NULL, "*:cri-containerd:", "", false },
	{ "docker", NULL, "*:docker:", "", false },
	{ "lxc", NULL, "lxc.payload.", "", true },
	{ "lxc", "lxc.payload", "", "", true },
	{ "lxc", "lxc", "", "", true },
};

static bool cgroup_is_container_id(const char *s)
{
	return strlen(s) == CONTAINER_ID_LEN &&
	       strspn(s, "0123456789abcdef") == CONTAINER_ID_LEN;
}

/* Returns the text after `prefix`, or NULL. A prefix that begins with * matches anywhere in `s`. */
static const char *cgroup_after_prefix(const char *s, const char *prefix)
{
	const char *found;

	if (prefix[0] != '*')
		return strncmp(s, prefix, strlen(prefix)) ? NULL : s + strlen(prefix);
	found = strstr(s, prefix + 1);
	return found ? found + strlen(prefix + 1) : NULL;
}

static bool cgroup_parent_matches(const char *parent, const char *pattern)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return !strncmp(parent, pattern, n - 1);
	return !strcmp(parent, pattern);
}

static bool cgroup_rule_matches(const struct container_rule *rule, const char *parent,
				const char *name, char *id, size_t size)
{
	const char *rest = cgroup_after_prefix(name, rule->prefix);
	size_t suffix = strlen(rule->suffix), n;

	if (!rest || (rule->parent && !cgroup_parent_matches(parent, rule->parent)))
		return false;
	n = strlen(rest);
	if (n <= suffix || strcmp(rest + n - suffix, rule->suffix) || n - suffix >= size)
		return false;
	memcpy(id, rest, n - suffix);
	id[n - suffix] = '\0';
	return rule->named || cgroup_is_container_id(id);
}

/* Unescapes a name in place: systemd writes '-' and other special characters as \x2d. */
static void cgroup_unescape_unit(char *s)
{
	char *to = s;
	unsigned int c;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] == 'x' && isxdigit((unsigned char)s[2]) &&
		    isxdigit((unsigned char)s[3]) && sscanf(s + 2, "%2x", &c) == 1 && c) {
			*to++ = c;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static void cgroup_match_container(const char *parent, const char *name, struct host_cgroup *cgroup)
{
	char id[HOST_LABEL_MAX];

	for (size_t i = 0; i < ARRAY_LEN(container_rules); i++) {
		const struct container_rule *rule = &container_rules[i];

		if (!cgroup_rule_matches(rule, parent, name, id, sizeof(id)))
			continue;
		cgroup->manager = rule->manager;
		if (rule->named)
			cgroup_unescape_unit(id);
		/* libvirt's guests are machines as well: machine-qemu\x2d1\x2dNAME.scope */
		if (!strcmp(rule->manager, "nspawn") && !strncmp(id, "qemu-", 5))
			cgroup->manager = "libvirt";
		memcpy(cgroup->container, id, sizeof(id));
		return;
	}
}

static bool cgroup_has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && !strcmp(s + n - m, suffix);
}

/* "pod1234-…", "kubepods-burstable-pod1234_….slice": sets a pod's uid of 32 to 36 characters. */
static void cgroup_match_pod(const char *name, struct host_cgroup *cgroup)
{
	const char *uid = NULL;
	size_t n;

	if (!strncmp(name, "pod", 3))
		uid = name + 3;
	else if (!strncmp(name, "kubepods", 8) && (uid = strstr(name, "-pod")))
		uid += 4;
	if (!uid)
		return;
	n = strspn(uid, "0123456789abcdef-_");
	if (n < 32 || n > 36 || (uid[n] && strncmp(uid + n, ".slice", 6)))
		return;
	for (size_t i = 0; i < n; i++)
		cgroup->pod[i] = uid[i] == '_' ? '-' : uid[i];
	cgroup->pod[n] = '\0';
}

static void cgroup_make_label(struct host_cgroup *cgroup)
{
	int n = strlen(cgroup->unit);
	const char *dot = strrchr(cgroup->unit, '.');

	if (cgroup->manager) {
		n = cgroup_is_container_id(cgroup->container) ? SHORT_ID_LEN : HOST_LABEL_MAX / 2;
		snprintf(cgroup->label, sizeof(cgroup->label), "%s %.*s", cgroup->manager, n,
			 cgroup->container);
	} else if (dot) {
		snprintf(cgroup->label, sizeof(cgroup->label), "%.*s", (int)(dot - cgroup->unit),
			 cgroup->unit);
	}
}

void host_cgroup_parse(const char *path, struct host_cgroup *cgroup)
{
	char copy[HOST_PATH_MAX], *rest = copy, *name, *parent = "";

	memset(cgroup, 0, sizeof(*cgroup));
	snprintf(cgroup->path, sizeof(cgroup->path), "%s", path);
	snprintf(copy, sizeof(copy), "%s", path);
	/* The innermost container or unit counts: later ones overwrite. */
	while ((name = strsep(&rest, "/"))) {
		if (!*name)
			continue;
		cgroup_match_container(parent, name, cgroup);
		cgroup_match_pod(name, cgroup);
		if ((cgroup_has_suffix(name, ".service") || cgroup_has_suffix(name, ".scope")) &&
		    strlen(name) < sizeof(cgroup->unit))
			memcpy(cgroup->unit, name, strlen(name) + 1);
		parent = name;
	}
	cgroup_make_label(cgroup);
}

static size_t cgroup_path_depth(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += path[0] == '/' && path[1];
	return depth;
}

/* Splits a line of /proc/PID/cgroup, "4:memory:/a/b". Returns its hierarchy's rank, 0 the best. */
static int cgroup_split_membership(char *line, const char **path)
{
	char *controllers = strchr(line, ':'), *p;

	p = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!p)
		return -EINVAL;
	*p = '\0';
	*path = p + 1;
	if (!strcmp(line, "0:"))
		return 0;
	return strcmp(controllers, ":name=systemd") ? 2 : 1;
}

/*
 * Returns the rank of a process's cgroup path; the highest is used. A container counts most, then a
 * systemd unit, the path's depth, and `rank` of the hierarchy (0 is best).
 */
static size_t cgroup_path_worth(const struct host_cgroup *cgroup, int rank)
{
	return (cgroup->manager ? 1 << 20 : 0) + (cgroup->unit[0] ? 1 << 16 : 0) +
	       4 * cgroup_path_depth(cgroup->path) + 3 - rank;
}

int host_cgroup_of(const struct host_root *root, pid_t pid, struct host_cgroup *cgroup)
{
	char *text, *rest, *line, unified[HOST_PATH_MAX] = "";
	struct host_cgroup candidate;
	size_t worth, best = 0;
	const char *path;
	int err, rank;

	memset(cgroup, 0, sizeof(*cgroup));
	err = host_read_all(&text, 64 << 10, "%s/%d/cgroup", host_root_or_live(root)->proc, pid);
	if (err < 0)
		return err == -ENOENT ? -ESRCH : err;
	for (rest = text; (line = host_next_line(&rest));) {
		rank = cgroup_split_membership(line, &path);
		if (rank < 0)
			continue;
		if (!rank)
			snprintf(unified, sizeof(unified), "%s", path);
		host_cgroup_parse(path, &candidate);
		worth = cgroup_path_worth(&candidate, rank);
		if (worth > best) {
			*cgroup = candidate;
			best = worth;
		}
	}
	memcpy(cgroup->unified, unified, sizeof(unified));
	free(text);
	return 0;
}

int host_cgroup2_mount(const struct host_root *root, char *buf, size_t size)
{
	return host_mount_point(root, "cgroup2", buf, size);
}

int host_cgroup2_open(void)
{
	char path[HOST_PATH_MAX];
	int err = host_cgroup2_mount(NULL, path, sizeof(path)), fd;
	struct statfs fs;

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
		return fd;
	close(fd);
	return -ENOENT;
}

int host_cgroup2_id(const struct host_root *root, const char *path, uint64_t *id)
{
	char full[2 * HOST_PATH_MAX], mount[HOST_PATH_MAX];
	struct stat st;
	int err;

	err = host_cgroup2_mount(root, mount, sizeof(mount));
	if (err)
		return err;
	if ((size_t)snprintf(full, sizeof(full), "%s%s", mount, path) >= sizeof(full))
		return -ENAMETOOLONG;
	if (stat(full, &st))
		return -errno;
	*id = st.st_ino;
	return 0;
}

/* Opens a cgroup by its id, which is its folder's file handle (fs/kernfs: FILEID_KERNFS). */
static int cgroup_open_by_id(const char *mount, uint64_t id)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + sizeof(id)];
	} by_id = { .handle = { .handle_bytes = sizeof(id), .handle_type = 0xfe } };
	int dir = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (dir < 0)
		return -errno;
	memcpy(by_id.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(dir, &by_id.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

int host_cgroup2_path(const struct host_root *root, uint64_t id, char *buf, size_t size)
{
	char link[64], full[HOST_PATH_MAX], mount[HOST_PATH_MAX];
	size_t prefix;
	ssize_t n;
	int err, fd;

	err = host_cgroup2_mount(root, mount, sizeof(mount));
	if (err)
		return err;
	fd = cgroup_open_by_id(mount, id);
	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, full, sizeof(full) - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	full[n] = '\0';
	prefix = strlen(mount);
	if (strncmp(full, mount, prefix))
		return -ENOENT;
	if ((size_t)snprintf(buf, size, "%s", full[prefix] ? full + prefix : "/") >= size)
		return -ENAMETOOLONG;
	return 0;
}
