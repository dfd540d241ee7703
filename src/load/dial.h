/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's life: made, lost, made anew after a while that doubles. */
#ifndef HOSTLAT_LOAD_DIAL_H
#define HOSTLAT_LOAD_DIAL_H

#include "load/thread.h"

/* How many connections of a thread are being made at a time: servers' queues are short. */
#define LOAD_DIAL_WINDOW 64

/* Every connection is due to be made. */
void dial_begin(struct load_thread *t);

/* Makes what is due, and gives up what takes too long. */
void dial_due(struct load_thread *t);

/* When dial_due() is to be called next; UINT64_MAX: never. */
uint64_t dial_next(const struct load_thread *t);

/* Something has happened to a connection that is not open yet. */
void dial_event(struct load_thread *t, struct load_conn *c, uint32_t events);

/* An open one is lost, for this -errno: what it waited for has failed. */
void dial_lost(struct load_thread *t, struct load_conn *c, int err);

/* It has had its requests and waits for none: a new one in its place. */
void dial_renew(struct load_thread *t, struct load_conn *c);

#endif
