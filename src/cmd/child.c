/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "clock/clock.h"

#define SAID_MAX (1u << 20)
#define LOOK_MS 20
#define END_PATIENCE_NS (10 * NS_PER_S)

/*
 * Returns the path of this program's executable; ps shows its last part as the child's name.
 * Returns "/proc/self/exe" only if that path no longer leads to the running executable.
 */
static const char *child_program(char path[PATH_MAX])
{
	static const char self[] = "/proc/self/exe";
	const ssize_t n = readlink(self, path, PATH_MAX - 1);
	struct stat runs, found;

	path[n > 0 ? n : 0] = '\0';
	if (n <= 0 || stat(self, &runs) || stat(path, &found) || runs.st_dev != found.st_dev ||
	    runs.st_ino != found.st_ino)
		return self;
	return path;
}

/*
 * Executes the arguments `words` in the forked child process. With a `folder`, first gives up the
 * privileges outside of `set`: see child_start_plain().
 */
static void __attribute__((noreturn))
child_exec(const char *const words[], const char *folder, uint64_t set, int said, int ready,
	   pid_t parent)
{
	char path[PATH_MAX], number[16];
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (folder && !privilege_give_up(folder, set))
		_exit(127);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* set after the change of user, which would reset it */
	snprintf(number, sizeof(number), "%d", ready);
	if (getppid() != parent || dup2(said, STDERR_FILENO) < 0 ||
	    (ready >= 0 && (fcntl(ready, F_SETFD, 0) || setenv(CHILD_READY_FD, number, 1))))
		_exit(127);
	execv(child_program(path), (char *const *)words);
	_exit(127);
}

/*
 * Forks a child process that executes the arguments `words`. `notifies`: gives the child a pipe, by
 * which child_ready() learns that the child measures. Returns 0 or -errno.
 */
static int child_fork(struct child *child, const char *const words[], const char *folder,
		      uint64_t set, bool notifies)
{
	const pid_t parent = getpid();
	int said[2], ready[2] = { -1, -1 }, err;

	*child = (struct child){ .said = -1, .ready = -1, .text = STRBUF_INIT(SAID_MAX) };
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	child->said = said[0];
	fcntl(said[1], F_SETFL, 0); /* blocking: the child waits if the pipe is full */
	if (notifies && pipe2(ready, O_CLOEXEC | O_NONBLOCK)) {
		err = -errno;
		close(said[1]);
		return err;
	}
	child->ready = ready[0];
	child->pid = fork();
	if (!child->pid)
		child_exec(words, folder, set, said[1], ready[1], parent);
	err = child->pid < 0 ? -errno : 0;
	close(said[1]);
	if (notifies)
		close(ready[1]);
	if (err) {
		child->pid = 0;
		return err;
	}
	setpgid(child->pid, child->pid); /* the child does the same: either may run first */
	return 0;
}

int child_start(struct child *child, const char *const words[])
{
	return child_fork(child, words, NULL, 0, true);
}

int child_start_plain(struct child *child, const char *const words[], const char *folder,
		      uint64_t set)
{
	return child_fork(child, words, folder, set, false);
}

/* Reads all available bytes of the child's standard error. */
static void child_read_messages(struct child *child)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(child->said, buf, sizeof(buf))) > 0)
		strbuf_add(&child->text, buf, (size_t)n);
}

static int child_poll(struct child *child, struct stop *stop)
{
	struct pollfd fds[] = {
		{ .fd = child->said, .events = POLLIN },
		{ .fd = child->ready, .events = POLLIN },
		{ .fd = stop->fd, .events = POLLIN },
	};

	poll(fds, 3, LOOK_MS);
	return stop_requested(stop) ? -EINTR : 0;
}

int child_ready(struct child *child, uint64_t patience_ns, struct stop *stop)
{
	const uint64_t until = clock_now() + patience_ns;

	while (clock_now() <= until) {
		int err = child_poll(child, stop);
		char byte;
		ssize_t n;

		if (err)
			return err;
		child_read_messages(child);
		child->begun = child->text.len;
		n = read(child->ready, &byte, 1);
		child_read_messages(child);
		if (n < 0)
			continue;
		child->measures = n > 0;
		close(child->ready);
		child->ready = -1;
		return child->measures ? 0 : -ECHILD;
	}
	return -ETIMEDOUT;
}

static int child_exit_code(struct child *child, int status)
{
	child->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

int child_wait(struct child *child, uint64_t patience_ns, struct stop *stop)
{
	const uint64_t until = clock_now() + patience_ns;
	int status;

	for (;;) {
		pid_t pid = waitpid(child->pid, &status, WNOHANG);
		int err;

		child_read_messages(child);
		if (pid == child->pid)
			return child_exit_code(child, status);
		err = child_poll(child, stop);
		if (err)
			return err;
		if (clock_now() > until)
			return -ETIMEDOUT;
	}
}

#define MESSAGE "hostlat: "
#define WARNING MESSAGE "warning: "

static bool child_is_warning(const char *line)
{
	return !strncmp(line, WARNING, sizeof(WARNING) - 1);
}

void child_relay_warnings(struct child *child)
{
	const char *text = strbuf_str(&child->text), *line, *end;

	for (line = text + child->relayed; (end = strchr(line, '\n')); line = end + 1)
		if (child_is_warning(line))
			log_warning("%.*s", (int)(end - line) - (int)(sizeof(WARNING) - 1),
				    line + sizeof(WARNING) - 1);
	child->relayed = (size_t)(line - text);
}

/*
 * Returns the child's first error message after its measurement began or, if it has not begun, its
 * last error message. Skips warnings.
 */
static const char *child_error_line(const struct child *child)
{
	const char *line = strbuf_str(&child->text) + (child->measures ? child->begun : 0);
	const char *found = "";

	while (*line && !(child->measures && *found)) {
		const char *end = strchrnul(line, '\n');

		if (!child_is_warning(line))
			found = line;
		line = *end ? end + 1 : end;
	}
	return found;
}

void child_put_error(const struct child *child, int code, struct strbuf *why)
{
	const char *line = child_error_line(child);

	if (!strncmp(line, MESSAGE, sizeof(MESSAGE) - 1))
		line += sizeof(MESSAGE) - 1;
	if (code == -ETIMEDOUT)
		strbuf_puts(why, "the command did not finish in time");
	else if (code < 0 && code != -ECHILD)
		strbuf_puts(why, strerror(-code));
	else if (*line)
		strbuf_printf(why, "%.*s", (int)strcspn(line, "\n"), line);
	else
		strbuf_puts(why, "the command ended without an error message");
}

void child_interrupt(const struct child *child)
{
	if (child->pid)
		kill(child->pid, SIGINT);
}

static bool child_wait_gone(const struct child *child, uint64_t patience_ns)
{
	const uint64_t until = clock_now() + patience_ns;

	while (waitpid(child->pid, NULL, WNOHANG) != child->pid) {
		if (clock_now() > until)
			return false;
		poll(NULL, 0, LOOK_MS);
	}
	return true;
}

void child_end(struct child *child)
{
	child_relay_warnings(child);
	if (child->pid) {
		kill(child->pid, SIGTERM);
		if (!child_wait_gone(child, END_PATIENCE_NS)) {
			kill(child->pid, SIGKILL);
			waitpid(child->pid, NULL, 0);
		}
		child->pid = 0;
	}
	if (child->said >= 0 && child->text.max)
		close(child->said);
	if (child->ready >= 0 && child->text.max)
		close(child->ready);
	child->said = child->ready = -1;
	strbuf_release(&child->text);
}
