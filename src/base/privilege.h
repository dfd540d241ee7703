/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up what root can do. Each function is to be called before this process has a second
 * thread, because the kernel keeps capabilities for each thread. Programs that are started later
 * get no more than what is kept.
 */
#ifndef HOSTLAT_BASE_PRIVILEGE_H
#define HOSTLAT_BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/capability.h>

#define PRIVILEGE(capability) (1ULL << (capability))

/* To trace the kernel, to enter network namespaces, to read others' /proc: design/privileges.md. */
#define PRIVILEGE_COLLECT                                                                         \
	(PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON) | PRIVILEGE(CAP_NET_ADMIN) |                 \
	 PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_SYS_PTRACE) | PRIVILEGE(CAP_SYS_RESOURCE) |      \
	 PRIVILEGE(CAP_DAC_READ_SEARCH))

/* No program that this process starts gets more than it has (by setuid, by file capabilities). */
void privilege_no_new(void);

/* Gives up every capability that is not in this set. */
void privilege_keep(uint64_t set);

/*
 * For what only reads files: gives up every capability, and lets the kernel refuse what a reader
 * never does (starting programs, sockets, tracing, mounting, namespaces).
 */
void privilege_read_only(void);

/*
 * For a process that is about to start another program: becomes the user behind sudo, if `folder`
 * is his, and gives up every capability. False if that fails: it must not go on then.
 */
bool privilege_give_up(const char *folder);

#endif
