/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up root's privileges. Call each function before this process has a second thread, because
 * the kernel keeps capabilities for each thread. Programs that are started later get only the
 * capabilities that are kept.
 */
#ifndef HOSTLAT_BASE_PRIVILEGE_H
#define HOSTLAT_BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/capability.h>

#define PRIVILEGE(capability) (1ULL << (capability))

/* Capabilities to trace, enter network namespaces and read others' /proc: design/privileges.md. */
#define PRIVILEGE_COLLECT                                                                         \
	(PRIVILEGE(CAP_BPF) | PRIVILEGE(CAP_PERFMON) | PRIVILEGE(CAP_NET_ADMIN) |                 \
	 PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_SYS_PTRACE) | PRIVILEGE(CAP_SYS_RESOURCE) |      \
	 PRIVILEGE(CAP_DAC_READ_SEARCH))

/* Prevents started programs from gaining privileges (by setuid or file capabilities). */
void privilege_no_new(void);

/* Gives up every capability outside of this set. */
void privilege_keep(uint64_t set);

/*
 * For processes that only read files: gives up every capability, and lets the kernel refuse calls
 * that a reader never makes (programs, sockets, tracing, mounts, namespaces).
 */
void privilege_read_only(void);

/*
 * Before another program is started: becomes the user behind sudo if that user owns `folder`, and
 * gives up every capability outside of `set`; the program has those of `set` that this process had.
 * False: it failed, and the process must not continue.
 */
bool privilege_give_up(const char *folder, uint64_t set);

#endif
