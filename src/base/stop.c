/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT, SIGTERM and SIGHUP through a descriptor. */
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRACE_MS 300 /* longest wait for a slow reader of the output after a second signal */
#define LOOK_MS 50   /* ms between checks whether a FIFO has a reader */

/* The only struct stop in use, as signals concern the whole process; NULL: none. */
static struct stop *active;

/* Returns true if a signal is ignored, as SIGHUP by nohup(1): a signalfd would still receive it. */
static bool stop_is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

static sigset_t stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (!stop_is_ignored(SIGHUP))
		sigaddset(&set, SIGHUP);
	return set;
}

int stop_init(struct stop *stop)
{
	sigset_t set = stop_signals();
	int err;

	*stop = (struct stop){ .fd = -1 };
	if (sigprocmask(SIG_BLOCK, &set, &stop->mask))
		return -errno;
	stop->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (stop->fd < 0) {
		err = -errno;
		sigprocmask(SIG_SETMASK, &stop->mask, NULL);
		return err;
	}
	signal(SIGPIPE, SIG_IGN);
	stop->active = true;
	active = stop;
	return 0;
}

static int stop_on_signal(const struct stop *stop)
{
	struct signalfd_siginfo info;

	if (read(stop->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

bool stop_requested(struct stop *stop)
{
	if (stop->active && !stop->signal)
		stop->signal = stop_on_signal(stop);
	return stop->signal != 0;
}

bool stop_insisted(struct stop *stop)
{
	/* Later signals are read as well, or the descriptor would stay readable. */
	if (stop->active && stop->signal)
		stop->again |= stop_on_signal(stop) != 0;
	return stop->again;
}

void stop_release(struct stop *stop)
{
	if (!stop || !stop->active)
		return;
	/* A pending signal would kill the process when it is unblocked. */
	while (stop_on_signal(stop))
		;
	close(stop->fd);
	sigprocmask(SIG_SETMASK, &stop->mask, NULL);
	stop->active = false;
	active = NULL;
}

/* ---- waits for a reader ---- */

/* Waits until `fd` is writable: at least PIPE_BUF bytes, for a pipe. Returns 0 or -errno. */
static int stop_wait_writable(int fd)
{
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLOUT }, { .fd = active->fd, .events = POLLIN },
	};
	int n;

	do {
		n = poll(fds, 2, stop_requested(active) && stop_insisted(active) ? GRACE_MS : -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[0].revents)
			return 0;
	} while (n);
	return -ECANCELED;
}

ssize_t stop_write(int fd, const void *data, size_t size)
{
	struct stat st;
	ssize_t n;
	int err;

	if (active && !fstat(fd, &st) && !S_ISREG(st.st_mode)) {
		err = stop_wait_writable(fd);
		if (err)
			return err;
		size = size < PIPE_BUF ? size : PIPE_BUF;
	}
	n = write(fd, data, size);
	return n < 0 ? -errno : n;
}

static int stop_open_fifo(const char *path, int flags)
{
	const bool seen = active->signal; /* a signal came before: only another ends this wait */
	struct pollfd signals = { .fd = active->fd, .events = POLLIN };
	int fd;

	for (;;) {
		fd = open(path, flags | O_NONBLOCK);
		if (fd >= 0)
			return fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ? -errno : fd;
		if (errno != ENXIO)
			return -errno;
		if (seen ? stop_insisted(active) : stop_requested(active))
			return -EINTR;
		poll(&signals, 1, LOOK_MS);
	}
}

int stop_open(const char *path, int flags, mode_t mode)
{
	struct stat st;
	int fd;

	if (active && !stat(path, &st) && S_ISFIFO(st.st_mode))
		return stop_open_fifo(path, flags);
	fd = open(path, flags, mode);
	return fd < 0 ? -errno : fd;
}
