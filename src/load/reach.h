/* SPDX-License-Identifier: Apache-2.0 */
/* Opens all connections before the run, or explains the failure. */
#ifndef HOSTLAT_LOAD_REACH_H
#define HOSTLAT_LOAD_REACH_H

#include "base/strbuf.h"
#include "load/thread.h"

/* Advice about a certificate that the system does not trust, behind a sentence. */
#define REACH_UNTRUSTED " (--ca FILE trusts the certificates in FILE, --insecure any)"

/*
 * Opens all connections of all threads. Returns 0 once they have stayed open for a moment, as a
 * server may accept a connection and close it at once; -EINTR when `stop_fd` becomes readable;
 * otherwise -errno with a sentence in `why`.
 */
int reach_connect(struct load_thread *threads, uint32_t n, int stop_fd, struct strbuf *why);

/* Stores the keys (--preload). Returns the same values as reach_connect(). */
int reach_preload(struct load_thread *threads, uint32_t n, int stop_fd, struct strbuf *why);

#endif
