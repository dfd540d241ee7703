/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT, SIGTERM and SIGHUP as a descriptor. */
#include "base/stop.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
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
	return 0;
}

static int take_signal(const struct stop *stop)
{
	struct signalfd_siginfo info;

	if (read(stop->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

bool stop_requested(struct stop *stop)
{
	if (stop->active && !stop->signal)
		stop->signal = take_signal(stop);
	return stop->signal != 0;
}

void stop_release(struct stop *stop)
{
	if (!stop || !stop->active)
		return;
	/* One that is still pending would kill the process when the mask is lifted. */
	while (take_signal(stop))
		;
	close(stop->fd);
	sigprocmask(SIG_SETMASK, &stop->mask, NULL);
	stop->active = false;
}
