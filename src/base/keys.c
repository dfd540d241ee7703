/* SPDX-License-Identifier: Apache-2.0 */
#include "base/keys.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/tty.h"

static sigset_t keys_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	sigaddset(&set, SIGWINCH);
	return set;
}

static bool keys_in_foreground(const struct keys *keys)
{
	return tcgetpgrp(keys->input) == getpgrp();
}

/* Reads keys from now on if the process is in the foreground; another one owns them otherwise. */
static void keys_take(struct keys *keys)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = keys->input };

	if (keys->changed || !keys_in_foreground(keys) || tcgetattr(keys->input, &keys->before))
		return;
	keys->ours = keys->before;
	keys->ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys->ours.c_cc[VMIN] = 0;
	keys->ours.c_cc[VTIME] = 0;
	if (tcsetattr(keys->input, TCSANOW, &keys->ours))
		return;
	keys->changed = true;
	epoll_ctl(keys->fd, EPOLL_CTL_ADD, keys->input, &event);
}

static void keys_give_back(struct keys *keys)
{
	if (!keys->changed)
		return;
	epoll_ctl(keys->fd, EPOLL_CTL_DEL, keys->input, NULL);
	if (keys_in_foreground(keys)) {
		tcflush(keys->input, TCIFLUSH); /* keys of this run are no command for the shell */
		tcsetattr(keys->input, TCSANOW, &keys->before);
	}
	keys->changed = false;
}

/* Restores the terminal after the process' death, unless its shell has already done so. */
static void keys_restore(void *ctx)
{
	const struct keys *keys = ctx;
	struct termios now;

	if (!tcgetattr(keys->input, &now) && !(now.c_lflag & (ICANON | ECHO)) &&
	    !now.c_cc[VMIN] && !now.c_cc[VTIME])
		tcsetattr(keys->input, TCSANOW, &keys->before);
}

static int keys_open_descriptors(struct keys *keys)
{
	const sigset_t set = keys_signals();
	struct epoll_event event = { .events = EPOLLIN };

	keys->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	keys->fd = keys->signals < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
	if (keys->fd < 0 || epoll_ctl(keys->fd, EPOLL_CTL_ADD, keys->signals, &event))
		return -errno;
	return 0;
}

int keys_open(struct keys *keys, int input)
{
	const sigset_t set = keys_signals();
	int err;

	*keys = (struct keys){ .fd = -1, .input = input, .signals = -1 };
	if (!isatty(input))
		return 0;
	if (sigprocmask(SIG_BLOCK, &set, &keys->mask))
		return -errno;
	keys->active = true;
	err = keys_open_descriptors(keys);
	if (!err && !tcgetattr(input, &keys->before))
		err = restorer_start_keeping(&keys->restorer, 0, input, keys_restore, keys);
	if (!err)
		keys_take(keys);
	return err;
}

/* Stops as ^Z without keys does: the terminal is as before meanwhile. */
static void keys_stop(struct keys *keys)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	keys_give_back(keys);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here, until SIGCONT */
	sigprocmask(SIG_BLOCK, &stop, NULL);
	keys_take(keys);
}

static int keys_read_signal(struct keys *keys)
{
	struct signalfd_siginfo info;

	if (read(keys->signals, &info, sizeof(info)) != sizeof(info))
		return KEYS_NONE;
	if (info.ssi_signo == SIGTSTP)
		keys_stop(keys);
	/* A stop by SIGSTOP gave no chance to restore anything: the shell has set its own modes. */
	if (info.ssi_signo == SIGCONT && keys->changed) {
		epoll_ctl(keys->fd, EPOLL_CTL_DEL, keys->input, NULL);
		keys->changed = false;
	}
	if (info.ssi_signo == SIGCONT)
		keys_take(keys);
	return info.ssi_signo == SIGWINCH ? KEYS_RESIZED : KEYS_CONTINUED;
}

int keys_next(struct keys *keys)
{
	unsigned char c;
	int next = keys->active && keys->signals >= 0 ? keys_read_signal(keys) : KEYS_NONE;
	ssize_t n;

	if (next || !keys->changed)
		return next;
	if (!keys_in_foreground(keys)) {
		keys_give_back(keys);
		return KEYS_NONE;
	}
	/* Another process on this terminal, such as a pager, may have set modes that wait. */
	if (poll(&(struct pollfd){ .fd = keys->input, .events = POLLIN }, 1, 0) <= 0)
		return KEYS_NONE;
	n = read(keys->input, &c, 1);
	if (n < 0 && errno != EINTR) /* the terminal is gone */
		epoll_ctl(keys->fd, EPOLL_CTL_DEL, keys->input, NULL);
	return n == 1 ? c : KEYS_NONE;
}

void keys_open_progress(struct keys *keys, bool quiet)
{
	*keys = (struct keys){ .fd = -1 };
	/* Keys belong to a pager that reads the output. */
	if (!quiet && tty_obeys(STDERR_FILENO) && isatty(STDOUT_FILENO) &&
	    keys_open(keys, STDIN_FILENO))
		keys_close(keys);
}

void keys_quit(struct keys *keys)
{
	int key;

	while (keys && (key = keys_next(keys)) != KEYS_NONE)
		if (key == 'q')
			kill(getpid(), SIGINT);
}

void keys_close(struct keys *keys)
{
	if (!keys->active)
		return;
	keys_give_back(keys);
	restorer_call_off(&keys->restorer);
	if (keys->fd >= 0)
		close(keys->fd);
	if (keys->signals >= 0)
		close(keys->signals);
	sigprocmask(SIG_SETMASK, &keys->mask, NULL);
	*keys = (struct keys){ .fd = -1 };
}
