/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections as the box sees them: which packet is data and which is data sent again, and what
 * each sender knows: a packet counts for it when it leaves it, an acknowledgement when it reaches
 * it.
 */
#ifndef SCENARIOS_FLOW_H
#define SCENARIOS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum kind { KIND_OTHER, KIND_SYN, KIND_ACK, KIND_NEW, KIND_AGAIN, KINDS };

extern const char *const kind_names[KINDS];

/* A TCP segment; all in host order. */
struct segment {
	bool v6;
	uint8_t src[16], dst[16]; /* addresses; IPv4 uses the first four bytes */
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint8_t flags;
	uint16_t window;
	int scale;    /* window scale of a SYN, -1 if it has none */
	uint32_t len; /* payload, bytes */
};

/* One end: what it sent, and what it knows of its peer. All times in ns. */
struct side {
	bool known;             /* its SYN was seen */
	bool closed;            /* its FIN or RST, too: what it knows is told up to there */
	uint32_t isn;           /* sequence number of the SYN; data starts one behind it */
	uint32_t sent, una;     /* sent: behind the highest byte that left it */
	uint32_t window;        /* the peer's, scaled */
	int scale;              /* that it offered */
	uint32_t mss;           /* longest payload */
	uint64_t packets[KINDS], bytes;
	uint64_t since;         /* the times are complete up to here */
	/*
	 * Nothing in flight; the window is zero, or has no room for a segment, or is used but for a
	 * third, from where on Linux waits for more room; neither.
	 */
	uint64_t idle, zero, full, used, open;
	uint32_t most;          /* bytes in flight */
	bool hole;              /* something was dropped and is not known to have come yet */
	uint32_t hole_end;
	uint64_t lossy, holes; /* how long that was so, and how often */
	uint64_t progress;      /* last time that something was acknowledged, or in flight again */
	uint64_t longest;       /* without progress */
};

struct flow {
	unsigned int conn;      /* in the order in which the box saw them, from 1 */
	struct segment first;   /* its addresses; side 0 sent it */
	struct side side[2];
	uint64_t begin;
};

struct flow_table;

/* Both return NULL without memory. */
struct flow_table *flow_table_new(unsigned int most);
void flow_table_free(struct flow_table *table);

/* Parses an IP packet; false if it is cut, or is not (the first fragment of) a TCP segment. */
bool segment_parse(const uint8_t *packet, size_t len, struct segment *segment);

/* The segment's flow, made if it is the first; *side is its sender's. NULL if they are too many. */
struct flow *flow_find(struct flow_table *table, const struct segment *segment, uint64_t now,
		       int *side);

/* It left its sender: what it is. */
enum kind flow_sent(struct flow *flow, int side, const struct segment *segment, uint64_t now);

/* It reached its receiver. Returns for how long that end, as a sender, had had no progress, if this
   brought it some. */
uint64_t flow_arrived(struct flow *flow, int side, const struct segment *segment, uint64_t now);

/* It was dropped behind flow_sent(). */
void flow_dropped(struct flow *flow, int side, const struct segment *segment, uint64_t now);

/* A line of JSON per connection. */
void flow_print(struct flow_table *table, uint64_t now, FILE *out);

#endif
