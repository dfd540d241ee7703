/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that puts back what this one has changed, if this one can't: it waits, and acts only if
 * this process ends without having called it off (SIGKILL, the OOM killer, a crash). Who kills
 * both, as the end of a service's control group or of a container may, leaves things as they are.
 */
#ifndef HOSTLAT_BASE_RESTORER_H
#define HOSTLAT_BASE_RESTORER_H

#include <stdint.h>
#include <sys/types.h>

/* Zeroed: no restorer runs. */
struct restorer {
	pid_t pid;
	int fd;
};

/*
 * It has this process' memory as it is now, of its descriptors those of BPF objects, and of its
 * privileges `capabilities` (base/privilege.h); no signal but SIGKILL ends it. `restore` may not
 * take locks that other threads may hold now, nor print. 0 or -errno.
 */
int restorer_start(struct restorer *r, uint64_t capabilities, void (*restore)(void *ctx),
		   void *ctx);

/* Ends the restorer: this process has restored all itself. Accepts a zeroed one. */
void restorer_call_off(struct restorer *r);

#endif
