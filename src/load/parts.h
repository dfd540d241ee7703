/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a request's latency, which sum to it: from the intended time to the reading of the
 * reply's last byte. Time that no stamp divides is `unexplained`, never guessed.
 *
 *	client queue    intended -> sent: our own lateness, or no connection was free
 *	transmit        sent -> the driver or the NIC had its last byte
 *	wire + server   -> our stack or NIC had the last byte of the reply
 *	wakeup          -> the reader ran, where the reply had to wake it
 *	receive         -> the reader had the bytes
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

/* Returns the name of a part for users: "client queue". */
const char *load_part_words(enum load_part part);

/*
 * Divides the latency of a sent sample (intended <= sent <= done). The sum of `out` is done -
 * intended.
 */
void load_parts(const struct event_sample *sample, uint64_t out[LOAD_PARTS]);

/*
 * Gets the time between the kernel's (or NIC's) stamps of request and reply. False: a stamp is
 * missing, or the reply's stamp belongs to a later reply.
 */
bool load_kernel_ns(const struct event_sample *sample, uint64_t *ns);

/*
 * Returns whether both stamps exist, but several replies came in one receive call and the stamp is
 * that of a later one, so that this reply arrived at the stamp or earlier.
 */
bool load_kernel_censored(const struct event_sample *sample);

#endif
