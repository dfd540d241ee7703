/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that puts back what this one has changed, if this one can't: it waits, and acts only if
 * this process ends without having called it off (SIGKILL, the OOM killer, a crash). What kills
 * both, as a kill of a whole control group does, leaves things as they are.
 */
#ifndef HOSTLAT_BASE_RESTORER_H
#define HOSTLAT_BASE_RESTORER_H

#include <sys/types.h>

/* Zeroed: there is none. */
struct restorer {
	pid_t pid;
	int fd;
};

/*
 * It has this process' memory and privileges as they are now, and of its descriptors those of BPF
 * objects; no signal but SIGKILL ends it. `restore` may not take locks that other threads may hold
 * now, nor print. 0 or -errno.
 */
int restorer_start(struct restorer *r, void (*restore)(void *ctx), void *ctx);

/* This process has put all back itself. Of one that there is not, nothing happens. */
void restorer_call_off(struct restorer *r);

#endif
