/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock/clock.h"
#include "host/netns.h"

#define PATIENCE_NS (2 * NS_PER_S)
#define LOOK_NS (2 * NS_PER_MS)
#define WORDS 8
#define COMMAND_MAX 4096

struct load_child {
	int in, out, err, netns; /* netns -1: the network namespace of this process */
	const char *words[WORDS];
};

/* ---- command line of an agent ---- */

static int open_netns(const char *name, int *fd, struct strbuf *why)
{
	struct host_netns_vec list;
	const struct host_netns *ns;
	int err = host_netns_list(NULL, &list);

	ns = err ? NULL : host_netns_lookup(NULL, &list, name);
	if (!err && !ns)
		err = -ENOENT;
	if (!err) {
		*fd = host_netns_open(ns);
		err = *fd < 0 ? *fd : 0;
	}
	host_netns_vec_release(&list);
	if (err == -ENOENT)
		strbuf_printf(why, "there is no network namespace '%s'", name);
	else if (err)
		strbuf_printf(why, "network namespace %s: %s", name, strerror(-err));
	return err;
}

static int load_spawn_choose(struct load_child *child, const struct load_host *host,
			     const char *command, struct strbuf *why)
{
	const char *const here[] = { "/proc/self/exe", "agent", NULL };
	const char *const there[] = {
		"ssh", "-T", "-o", "BatchMode=yes", "--", host->name, command, NULL,
	};

	if (host->kind == HOST_SSH)
		memcpy(child->words, there, sizeof(there));
	else
		memcpy(child->words, here, sizeof(here));
	return host->kind == HOST_NETNS ? open_netns(host->name, &child->netns, why) : 0;
}

/* ---- the child ---- */

/* Restores the SIGPIPE action and the signal mask, which the agent must not inherit. */
static void restore_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void __attribute__((noreturn)) load_spawn_exec(const struct load_child *child)
{
	setpgid(0, 0);
	restore_signals();
	if (dup2(child->in, STDIN_FILENO) < 0 || dup2(child->out, STDOUT_FILENO) < 0 ||
	    dup2(child->err, STDERR_FILENO) < 0)
		_exit(127);
	if (child->netns >= 0 && setns(child->netns, CLONE_NEWNET))
		dprintf(STDERR_FILENO, "cannot enter the network namespace: %s\n", strerror(errno));
	else if (execvp(child->words[0], (char *const *)child->words))
		dprintf(STDERR_FILENO, "cannot run %s: %s\n", child->words[0], strerror(errno));
	_exit(127);
}

/* ---- the parent ---- */

static void close_pair(int pair[2])
{
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

static int load_spawn_fork(struct load_process *p, struct load_child *child)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int err = 0;

	for (int i = 0; i < 3 && !err; i++)
		err = pipe2(pipes[i], O_CLOEXEC) ? -errno : 0;
	child->in = pipes[0][0];
	child->out = pipes[1][1];
	child->err = pipes[2][1];
	if (!err) {
		p->pid = fork();
		err = p->pid < 0 ? -errno : 0;
	}
	if (!err && !p->pid)
		load_spawn_exec(child);
	if (err) {
		for (int i = 0; i < 3; i++)
			close_pair(pipes[i]);
		p->pid = 0;
		return err;
	}
	setpgid(p->pid, p->pid); /* parent and child both call setpgid(): either may run first */
	close(child->in);
	close(child->out);
	close(child->err);
	p->in = pipes[0][1];
	p->out = pipes[1][0];
	p->err = pipes[2][0];
	return 0;
}

int load_process_start(struct load_process *process, const struct load_host *host,
		       const char *command, struct strbuf *why)
{
	struct strbuf line = STRBUF_INIT(COMMAND_MAX);
	struct load_child child = { .netns = -1 };
	int err;

	*process = (struct load_process){ .in = -1, .out = -1, .err = -1 };
	strbuf_printf(&line, "%s agent", command);
	err = line.error;
	if (err)
		strbuf_printf(why, "cannot start an agent: its command is longer than %d bytes",
			      COMMAND_MAX);
	else
		err = load_spawn_choose(&child, host, strbuf_str(&line), why);
	if (!err) {
		err = load_spawn_fork(process, &child);
		if (err)
			strbuf_printf(why, "cannot start an agent: %s", strerror(-err));
	}
	if (child.netns >= 0)
		close(child.netns);
	strbuf_release(&line);
	return err;
}

void load_process_kill(const struct load_process *process)
{
	if (process->pid)
		kill(-process->pid, SIGKILL);
}

static bool load_spawn_reap(struct load_process *p, int options)
{
	if (p->pid && waitpid(p->pid, NULL, options))
		p->pid = 0;
	return !p->pid;
}

void load_processes_end(struct load_process *processes, uint32_t n)
{
	struct clock *clock = clock_system();
	const int64_t until = clock_mono_ns(clock) + PATIENCE_NS;
	bool all = false;

	while (!all && clock_mono_ns(clock) < until) {
		all = true;
		for (uint32_t i = 0; i < n; i++)
			all &= load_spawn_reap(&processes[i], WNOHANG);
		if (!all)
			clock_sleep_until(clock, clock_mono_ns(clock) + LOOK_NS);
	}
	for (uint32_t i = 0; i < n; i++) {
		load_process_kill(&processes[i]);
		load_spawn_reap(&processes[i], 0);
	}
}
