/* SPDX-License-Identifier: Apache-2.0 */
/* Opens connections, and reopens lost connections with exponential backoff. */
#ifndef HOSTLAT_LOAD_DIAL_H
#define HOSTLAT_LOAD_DIAL_H

#include "load/thread.h"

/* Largest number of connections that a thread opens at a time; servers' accept queues are short. */
#define LOAD_DIAL_WINDOW 64

/* Schedules all connections to be opened. */
void dial_begin(struct load_thread *t);

/* Opens the connections that are due, and fails connections that time out. */
void dial_due(struct load_thread *t);

/* Returns when dial_due() must be called next, in ns; UINT64_MAX: never. */
uint64_t dial_next(const struct load_thread *t);

/* Handles epoll events of a connection that is not open yet. */
void dial_event(struct load_thread *t, struct load_conn *c, uint32_t events);

/* Handles the loss of an open connection for -errno `err`: fails requests or queues resends. */
void dial_lost(struct load_thread *t, struct load_conn *c, int err);

/* Replaces a connection that reached --requests-per-connection by a new one. */
void dial_renew(struct load_thread *t, struct load_conn *c);

#endif
