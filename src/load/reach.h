/* SPDX-License-Identifier: Apache-2.0 */
/* Before the run: opens all connections, or says in a sentence what the server made of them. */
#ifndef HOSTLAT_LOAD_REACH_H
#define HOSTLAT_LOAD_REACH_H

#include "base/strbuf.h"
#include "load/thread.h"

/*
 * Returns 0 once all connections of all threads have stayed open for a moment: a server may accept
 * what it closes at once. -EINTR when `stop_fd` became readable; otherwise -errno, with `why`.
 */
int reach_connect(struct load_thread *threads, uint32_t n, int stop_fd, struct strbuf *why);

/* Stores the keys (--preload): the same. */
int reach_preload(struct load_thread *threads, uint32_t n, int stop_fd, struct strbuf *why);

#endif
