/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the packet with a send call's last byte: joins records of calls with records of packets by
 * sequence number. A packet may carry the last bytes of many calls, and a call may need many
 * packets; a packet's record may come before that of its call, or long after. A retransmission ends
 * no call twice. Pure: records in, pairs out.
 *
 * Memory: SENDS_NODES * 150 bytes, for calls that wait for their packet and packets that may end a
 * call still running. When there are more, the oldest is dropped; a dropped call is counted.
 */
#ifndef HOSTLAT_PROBE_SENDS_H
#define HOSTLAT_PROBE_SENDS_H

#include <stdint.h>

#include "bpf/abi_record.h"

#define SENDS_NODES 32768

struct sends;

/* Takes a call and the packet with its last byte. Its error is returned by the functions below. */
typedef int sends_done(void *ctx, const struct msg_send *call, const struct msg_packet *packet);

/* Returns 0 or -ENOMEM. */
int sends_new(struct sends **out, sends_done *done, void *ctx);
void sends_free(struct sends *s); /* accepts NULL */

int sends_call(struct sends *s, const struct msg_send *call);
int sends_packet(struct sends *s, const struct msg_packet *packet);

/* Returns the number of send calls dropped so far, as too many waited for a packet. */
uint64_t sends_forgotten(const struct sends *s);

#endif
