/* SPDX-License-Identifier: Apache-2.0 */
/* Marks an IP packet as a congested router does (RFC 3168). */
#ifndef SCENARIOS_MARK_H
#define SCENARIOS_MARK_H

#include <stdbool.h>
#include <stdint.h>

#define ECN_MASK 3

/* Marks a whole packet. False if it is marked already, or its sender does not understand marks. */
static inline bool mark_congestion(uint8_t *packet)
{
	uint32_t sum;

	if (packet[0] >> 4 == 6) {      /* the traffic class is across two bytes */
		if (!(packet[1] >> 4 & ECN_MASK) || (packet[1] >> 4 & ECN_MASK) == ECN_MASK)
			return false;
		packet[1] |= ECN_MASK << 4;
		return true;
	}
	if (!(packet[1] & ECN_MASK) || (packet[1] & ECN_MASK) == ECN_MASK)
		return false;
	/* RFC 1624: ~(~old sum + ~old word + new word) */
	sum = (uint16_t)~(packet[10] << 8 | packet[11]);
	sum += (uint16_t)~(packet[0] << 8 | packet[1]);
	packet[1] |= ECN_MASK;
	sum += packet[0] << 8 | packet[1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	packet[10] = sum >> 8;
	packet[11] = sum;
	return true;
}

#endif
