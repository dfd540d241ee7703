/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that restores what this process has changed, if this process cannot: it waits, and acts
 * only if this process ends without restorer_call_off() (SIGKILL, the OOM killer, a crash). If both
 * are killed, as at the end of a service's control group or a container, nothing is restored.
 */
#ifndef HOSTLAT_BASE_RESTORER_H
#define HOSTLAT_BASE_RESTORER_H

#include <stdint.h>
#include <sys/types.h>

/* Handle of a restorer process; zeroed: no restorer runs. */
struct restorer {
	pid_t pid;
	int fd;
};

/*
 * Forks the restorer. It has a copy of this process' memory, its BPF descriptors, and the
 * privileges `capabilities` (base/privilege.h); only SIGKILL ends it. `restore` may not take locks
 * that other threads may hold now, nor print. Returns 0 or -errno.
 */
int restorer_start(struct restorer *r, uint64_t capabilities, void (*restore)(void *ctx),
		   void *ctx);

/* As restorer_start(); the restorer also keeps the descriptor `kept` open. */
int restorer_start_keeping(struct restorer *r, uint64_t capabilities, int kept,
			   void (*restore)(void *ctx), void *ctx);

/* Ends the restorer: this process has restored everything itself. Accepts a zeroed struct. */
void restorer_call_off(struct restorer *r);

#endif
