/* SPDX-License-Identifier: Apache-2.0 */
/* The user behind root: sudo tells who has started this process. */
#ifndef HOSTLAT_BASE_INVOKER_H
#define HOSTLAT_BASE_INVOKER_H

#include <stdbool.h>
#include <sys/types.h>

struct invoker {
	uid_t uid;
	gid_t gid;
};

/*
 * True if this process runs as root by sudo, and a user other than root has started it. The
 * variables are trusted for root only: whoever can set root's environment is root already.
 */
bool invoker_find(struct invoker *invoker);

#endif
