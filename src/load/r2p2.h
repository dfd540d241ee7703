/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R2P2 (Kogias et al., "R2P2: Making RPCs first-class datacenter citizens", USENIX ATC'19):
 * requests and replies in datagrams whose header a switch can read. Here, the payload is a message
 * of the synthetic protocol, in one packet. The header is big endian:
 *
 * 	0 magic 0xcc  1 header size, 8  2 type << 4 | policy  3 flags: 0x80 first, 0x40 last
 * 	4 u16 request id  6 u16 number of packets (in the first)
 */
#ifndef HOSTLAT_LOAD_R2P2_H
#define HOSTLAT_LOAD_R2P2_H

#include "load/protocol.h"

#define R2P2_HEADER 8

enum r2p2_type { R2P2_REQUEST, R2P2_RESPONSE, R2P2_FEEDBACK, R2P2_ACK, R2P2_DROP };

/* Writes the header of a one-packet message, for client and server. */
void r2p2_put(void *to, enum r2p2_type type, uint16_t id);
/* Parses a header. Returns 0 or -EPROTO. */
int r2p2_get(const void *from, size_t size, enum r2p2_type *type, uint16_t *id);

/* Encodes a request, as `encode` of struct protocol. Truncates the id to 16 bits. */
int r2p2_encode(const struct workload *workload, struct rng *rng, void *buffer, size_t cap,
		struct encoded_request *out);
int r2p2_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out);

#endif
