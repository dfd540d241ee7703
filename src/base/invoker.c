/* SPDX-License-Identifier: Apache-2.0 */
#include "base/invoker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/parse.h"

/* Reads a user or group ID from the environment; false for UINT32_MAX, the kernel's "no ID". */
static bool read_id(const char *variable, uint64_t *id)
{
	const char *text = getenv(variable);

	return text && !parse_u64(text, id) && *id < UINT32_MAX;
}

bool invoker_find(struct invoker *invoker)
{
	uint64_t uid, gid;

	if (geteuid() || !read_id("SUDO_UID", &uid) || !read_id("SUDO_GID", &gid) || !uid)
		return false;
	*invoker = (struct invoker){ .uid = (uid_t)uid, .gid = (gid_t)gid };
	return true;
}

/* Sets saved IDs to the sudo user's: a process without capabilities may switch to its saved IDs. */
bool invoker_remember(void)
{
	struct invoker invoker;

	return invoker_find(&invoker) && !getuid() &&
	       !setresgid((gid_t)-1, (gid_t)-1, invoker.gid) &&
	       !setresuid((uid_t)-1, (uid_t)-1, invoker.uid);
}

/* The parent-death signal to restore: the kernel clears it at each change of the user. */
static int death_signal;

bool invoker_enter(void)
{
	struct invoker invoker;

	if (!invoker_find(&invoker))
		return false;
	prctl(PR_GET_PDEATHSIG, &death_signal);
	if (setegid(invoker.gid))
		return false;
	if (!seteuid(invoker.uid))
		return true;
	invoker_leave();
	return false;
}

/*
 * Switches back to the real user and group ID, which are root's. If that fails, the process aborts:
 * that is safer than to go on with one user's ID and another's group.
 */
void invoker_leave(void)
{
	if (seteuid(getuid()) || setegid(getgid()))
		abort();
	prctl(PR_SET_PDEATHSIG, death_signal);
}

int invoker_openat(int folder, const char *path, int flags)
{
	int fd = openat(folder, path, flags), err = fd < 0 ? -errno : fd;

	if (err != -EACCES || !invoker_enter())
		return err;
	fd = openat(folder, path, flags);
	err = fd < 0 ? -errno : fd;
	invoker_leave();
	return err;
}

int invoker_open(const char *path, int flags)
{
	return invoker_openat(AT_FDCWD, path, flags);
}

bool invoker_stat(const char *path, struct stat *st)
{
	int err = stat(path, st);

	if (err && errno == EACCES && invoker_enter()) {
		err = stat(path, st);
		invoker_leave();
	}
	return !err;
}
