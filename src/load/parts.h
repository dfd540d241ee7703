/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of one request's way, which sum to the whole: from the intended time to the reply's
 * last byte in the application's hands. What no stamp divides is `unexplained`, never guessed.
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

/* "client queue", for people. */
const char *load_part_words(enum load_part part);

/* The sum of `out` is done - intended. Of a sample that was sent: intended <= sent <= done. */
void load_parts(const struct event_sample *sample, uint64_t out[LOAD_PARTS]);

/*
 * Time between the kernel's (or NIC's) stamp of the request and the stamp of the reply. False: one
 * of the stamps is missing, or the reply's stamp belongs to a later reply.
 */
bool load_kernel_ns(const struct event_sample *sample, uint64_t *ns);

/*
 * Both stamps exist, but several replies came in one receive call and the stamp is of a later one:
 * this reply arrived at the stamp or any time before it.
 */
bool load_kernel_censored(const struct event_sample *sample);

#endif
