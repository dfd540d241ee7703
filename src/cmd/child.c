/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
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
 * Returns the path of this program. "/proc/self/exe" would be the child's name in ps; it is used
 * only if another file has replaced the program.
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

/* `folder`: run without privileges; see child_start_plain(). */
static void __attribute__((noreturn))
child_exec(const char *const words[], const char *folder, int said, pid_t parent)
{
	char path[PATH_MAX];
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (folder && !privilege_give_up(folder))
		_exit(127);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a change of the user would reset it */
	if (getppid() != parent || dup2(said, STDERR_FILENO) < 0)
		_exit(127);
	execv(child_program(path), (char *const *)words);
	_exit(127);
}

static int child_fork(struct child *child, const char *const words[], const char *folder)
{
	const pid_t parent = getpid();
	int pair[2];

	*child = (struct child){ .said = -1, .text = STRBUF_INIT(SAID_MAX) };
	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	child->pid = fork();
	if (!child->pid)
		child_exec(words, folder, pair[1], parent);
	close(pair[1]);
	if (child->pid < 0) {
		child->pid = 0;
		close(pair[0]);
		return -errno;
	}
	setpgid(child->pid, child->pid); /* the child does so, too: whichever runs first */
	child->said = pair[0];
	fcntl(child->said, F_SETFL, O_NONBLOCK);
	return 0;
}

int child_start(struct child *child, const char *const words[])
{
	return child_fork(child, words, NULL);
}

int child_start_plain(struct child *child, const char *const words[], const char *folder)
{
	return child_fork(child, words, folder);
}

/* Returns false at the end of the child's standard error. */
static bool child_read_messages(struct child *child)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(child->said, buf, sizeof(buf))) > 0)
		strbuf_add(&child->text, buf, (size_t)n);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool child_has_line(const struct child *child, const char *line)
{
	const char *text = strbuf_str(&child->text);
	const size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at += len)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}

static int child_poll(struct child *child, struct stop *stop)
{
	struct pollfd fds[] = {
		{ .fd = child->said, .events = POLLIN },
		{ .fd = stop->fd, .events = POLLIN },
	};

	poll(fds, 2, LOOK_MS);
	return stop_requested(stop) ? -EINTR : 0;
}

int child_ready(struct child *child, const char *line, uint64_t patience_ns, struct stop *stop)
{
	const uint64_t until = clock_now() + patience_ns;

	while (!child_has_line(child, line)) {
		int err = child_poll(child, stop);

		if (err)
			return err;
		if (!child_read_messages(child) && !child_has_line(child, line))
			return -ECHILD;
		if (clock_now() > until)
			return -ETIMEDOUT;
	}
	return 0;
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

static bool child_is_ready_line(const char *line)
{
	return !strncmp(line, CHILD_MEASURES "\n", sizeof(CHILD_MEASURES));
}

/* The first message behind the line that it measures, else the last one before. */
static const char *child_error_line(const char *text)
{
	const char *found = "";
	bool measures = false;

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');

		if (child_is_ready_line(line)) {
			measures = true;
			found = "";
		} else if (!child_is_warning(line) && !(measures && *found)) {
			found = line;
		}
		line = *end ? end + 1 : end;
	}
	return found;
}

void child_put_error(const struct child *child, int code, struct strbuf *why)
{
	const char *line = child_error_line(strbuf_str(&child->text));

	if (!strncmp(line, MESSAGE, sizeof(MESSAGE) - 1))
		line += sizeof(MESSAGE) - 1;
	if (code == -ETIMEDOUT)
		strbuf_puts(why, "it took too long");
	else if (code < 0 && code != -ECHILD)
		strbuf_puts(why, strerror(-code));
	else if (*line)
		strbuf_printf(why, "%.*s", (int)strcspn(line, "\n"), line);
	else
		strbuf_puts(why, "it ended without a message");
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
	child->said = -1;
	strbuf_release(&child->text);
}
