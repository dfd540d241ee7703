/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which packet took a send call's last byte: joins what the programs told of calls and of packets,
 * by their bytes. A packet may carry the last bytes of many calls, and a call may take many
 * packets; a packet may be told before the call that it ends has ended, or long after. What is
 * sent again ends no call twice. Pure: records in, pairs out.
 *
 * Memory: SENDS_NODES of 150 bytes, for calls whose bytes wait and packets that may end a call
 * which goes on. When there are more, the oldest is forgotten; if it is a call, it is counted.
 */
#ifndef HOSTLAT_PROBE_SENDS_H
#define HOSTLAT_PROBE_SENDS_H

#include <stdint.h>

#include "bpf/abi_record.h"

#define SENDS_NODES 32768

struct sends;

/* A call and the packet with its last byte. What it returns other than 0, sends_put() returns. */
typedef int sends_done(void *ctx, const struct told_send *call, const struct told_packet *packet);

/* 0 or -ENOMEM. */
int sends_new(struct sends **out, sends_done *done, void *ctx);
void sends_free(struct sends *s); /* NULL is fine */

int sends_call(struct sends *s, const struct told_send *call);
int sends_packet(struct sends *s, const struct told_packet *packet);

/* Calls that were forgotten, so far. */
uint64_t sends_forgotten(const struct sends *s);

#endif
