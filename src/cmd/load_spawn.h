/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that run `hostlat agent`, here or through ssh. Each is a process group of its own. */
#ifndef HOSTLAT_CMD_LOAD_SPAWN_H
#define HOSTLAT_CMD_LOAD_SPAWN_H

#include <sys/types.h>

#include "base/strbuf.h"
#include "load/hosts.h"

struct load_process {
	pid_t pid;        /* 0: none, or gone */
	int in, out, err; /* its stdin, stdout and stderr: the caller's */
};

/*
 * `command`: of a host that ssh calls. ssh asks nobody for anything, and checks hosts' keys as its
 * user has it configured. 0, or -errno and `why`.
 */
int load_process_start(struct load_process *process, const struct load_host *host,
		       const char *command, struct strbuf *why);

/* At once. It remains to be waited for. */
void load_process_kill(const struct load_process *process);

/* Waits a little for them to end by themselves, kills those that don't, waits for all. */
void load_processes_end(struct load_process *processes, uint32_t n);

#endif
