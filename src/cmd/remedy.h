/* SPDX-License-Identifier: Apache-2.0 */
/* The remedy for the main cause of slow requests or messages, from the glossary. */
#ifndef HOSTLAT_CMD_REMEDY_H
#define HOSTLAT_CMD_REMEDY_H

struct diagnosis;
struct report;

/* Adds "to_do", and a finding with it; null if no cause has much of the excess. */
void remedy_add(const struct diagnosis *d, struct report *r);

#endif
