/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that run `hostlat agent`, on this host or through ssh, each in a process group of its
 * own.
 */
#ifndef HOSTLAT_CMD_LOAD_SPAWN_H
#define HOSTLAT_CMD_LOAD_SPAWN_H

#include <sys/types.h>

#include "base/strbuf.h"
#include "load/hosts.h"

struct load_process {
	pid_t pid;        /* 0: none, or ended */
	int in, out, err; /* its stdin, stdout and stderr; owned by the caller */
};

/*
 * Starts an agent; `command` is hostlat's path on ssh hosts. ssh never prompts, and checks host
 * keys as configured. Returns 0, or -errno with a sentence in `why`.
 */
int load_process_start(struct load_process *process, const struct load_host *host,
		       const char *command, struct strbuf *why);

/* Kills the process group at once; load_processes_end() still has to wait for it. */
void load_process_kill(const struct load_process *process);

/* Waits up to 2 s for the processes to end, then kills the remaining ones and waits for them. */
void load_processes_end(struct load_process *processes, uint32_t n);

#endif
