/* SPDX-License-Identifier: Apache-2.0 */
#include "base/restorer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/privilege.h"

#define BPF_FILE "anon_inode:bpf"

static bool restorer_is_bpf(int folder, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(folder, name, target, sizeof(target));

	return n >= (ssize_t)strlen(BPF_FILE) && !strncmp(target, BPF_FILE, strlen(BPF_FILE));
}

/*
 * Closes inherited files except BPF objects, `keep` and `kept`; standard files become /dev/null.
 * Otherwise a pipe's reader would not see the end of the main process' output while the restorer
 * lives.
 */
static void restorer_close_files(int keep, int kept)
{
	int null = open("/dev/null", O_RDWR);
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		if (fd != kept)
			dup2(null, fd);
	while (dir && (entry = readdir(dir))) {
		uint64_t fd;

		if (!parse_u64(entry->d_name, &fd) && fd > STDERR_FILENO && (int)fd != keep &&
		    (int)fd != kept &&
		    (int)fd != dirfd(dir) && !restorer_is_bpf(dirfd(dir), entry->d_name))
			close((int)fd);
	}
	if (dir)
		closedir(dir);
}

static void __attribute__((noreturn)) restorer_wait_end(int fd, uint64_t capabilities, int kept,
							void (*restore)(void *), void *ctx)
{
	sigset_t all;
	ssize_t n;
	char off;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	/* Renamed, so that `pkill hostlat` does not end this process. */
	prctl(PR_SET_NAME, "put-back");
	privilege_keep(capabilities);
	restorer_close_files(fd, kept);
	do
		n = recv(fd, &off, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n < 1)
		restore(ctx);
	_exit(0);
}

int restorer_start(struct restorer *r, uint64_t capabilities, void (*restore)(void *ctx),
		   void *ctx)
{
	return restorer_start_keeping(r, capabilities, -1, restore, ctx);
}

int restorer_start_keeping(struct restorer *r, uint64_t capabilities, int kept,
			   void (*restore)(void *ctx), void *ctx)
{
	int pair[2];

	*r = (struct restorer){ 0 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	r->pid = fork();
	if (!r->pid) {
		close(pair[0]);
		restorer_wait_end(pair[1], capabilities, kept, restore, ctx);
	}
	close(pair[1]);
	if (r->pid < 0) {
		int err = -errno;

		close(pair[0]);
		r->pid = 0;
		return err;
	}
	r->fd = pair[0];
	return 0;
}

void restorer_call_off(struct restorer *r)
{
	if (!r->pid)
		return;
	send(r->fd, "", 1, MSG_NOSIGNAL);
	close(r->fd);
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*r = (struct restorer){ 0 };
}
