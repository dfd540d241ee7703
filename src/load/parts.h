/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a request's latency, whose sum is the latency: from the intended time to the read of
 * the reply's last byte. Time between missing stamps is `unexplained`, never guessed.
 *
 * 	client queue    intended -> sent: the generator was late, or no connection was free
 * 	transmit        sent -> the driver or the NIC had the request's last byte
 * 	wire + server   -> this host's stack or NIC had the reply's last byte
 * 	wakeup          -> the reading thread ran, if the reply had to wake it
 * 	receive         -> the reading thread had the bytes
 */
#ifndef HOSTLAT_LOAD_PARTS_H
#define HOSTLAT_LOAD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

enum load_part {
	PART_CLIENT_QUEUE, PART_TRANSMIT, PART_WIRE_SERVER, PART_RECEIVE, PART_WAKEUP,
	PART_UNEXPLAINED,
	LOAD_PARTS,
};

/* Returns the name of a part as shown to users, such as "client queue". */
const char *load_part_words(enum load_part part);

/*
 * Splits the latency of a sample that was sent (intended <= sent <= done) into parts, in ns. The
 * sum of `out` is done - intended.
 */
void load_parts(const struct event_sample *sample, uint64_t out[LOAD_PARTS]);

/*
 * Gets the time, in ns, between the transmit stamp of the request and the receive stamp of the
 * reply. Returns false if a stamp is missing or belongs to a later reply.
 */
bool load_kernel_ns(const struct event_sample *sample, uint64_t *ns);

/*
 * Returns whether both stamps exist, but one receive call returned several replies and the receive
 * stamp belongs to a later one: this reply arrived at that time or earlier.
 */
bool load_kernel_censored(const struct event_sample *sample);

#endif
