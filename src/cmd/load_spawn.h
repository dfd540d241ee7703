/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and ends processes of `hostlat agent`, on this host or through ssh. Each has its own
 * process group.
 */
#ifndef HOSTLAT_CMD_LOAD_SPAWN_H
#define HOSTLAT_CMD_LOAD_SPAWN_H

#include <sys/types.h>

#include "base/strbuf.h"
#include "load/hosts.h"

struct load_process {
	pid_t pid;        /* 0: not started, or ended */
	int in, out, err; /* the agent's stdin, stdout and stderr; the caller owns them */
};

/*
 * Starts an agent. `command` is the path of hostlat on ssh hosts. ssh never prompts, and checks
 * host keys as configured. Returns 0, or -errno with a sentence in `why`.
 */
int load_process_start(struct load_process *process, const struct load_host *host,
		       const char *command, struct strbuf *why);

/* Kills the agent's process group. The caller must still call load_processes_end() to reap it. */
void load_process_kill(const struct load_process *process);

/* Waits up to 2 s for the processes to end, then kills the remaining ones and waits for them. */
void load_processes_end(struct load_process *processes, uint32_t n);

#endif
