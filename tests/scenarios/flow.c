/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define FLAG_FIN 0x01
#define FLAG_SYN 0x02
#define FLAG_RST 0x04
#define FLAG_ACK 0x10
#define OPTION_SCALE 3

const char *const kind_names[KINDS] = { "other", "syn", "ack", "new", "again" };

struct flow_table {
	unsigned int most, count, slots; /* slots: a power of two, at least twice as many */
	struct flow *flows;
	uint32_t *slot;                  /* conn, 0 if free */
};

struct flow_table *flow_table_new(unsigned int most)
{
	struct flow_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	for (table->slots = 16; table->slots < 2 * most; table->slots *= 2);
	table->most = most;
	table->flows = calloc(most, sizeof(*table->flows));
	table->slot = calloc(table->slots, sizeof(*table->slot));
	if (!table->flows || !table->slot) {
		flow_table_free(table);
		return NULL;
	}
	return table;
}

void flow_table_free(struct flow_table *table)
{
	if (!table)
		return;
	free(table->flows);
	free(table->slot);
	free(table);
}

/* ---- packets ---- */

static uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static int window_scale(const uint8_t *option, const uint8_t *end)
{
	while (option < end && *option) {
		if (*option == 1) {
			option++;
			continue;
		}
		if (end - option < 2 || option[1] < 2 || option[1] > end - option)
			break;
		if (*option == OPTION_SCALE && option[1] == 3)
			return option[2] > 14 ? 14 : option[2];
		option += option[1];
	}
	return -1;
}

static bool parse_tcp(const uint8_t *p, size_t len, struct segment *segment)
{
	size_t head;

	if (len < 20)
		return false;
	head = (p[12] >> 4) * 4;
	if (head < 20 || head > len)
		return false;
	segment->sport = get16(p);
	segment->dport = get16(p + 2);
	segment->seq = get32(p + 4);
	segment->ack = get32(p + 8);
	segment->flags = p[13];
	segment->window = get16(p + 14);
	segment->scale = segment->flags & FLAG_SYN ? window_scale(p + 20, p + head) : -1;
	segment->len = len - head;
	return true;
}

bool segment_parse(const uint8_t *packet, size_t len, struct segment *segment)
{
	size_t head, total;

	memset(segment, 0, sizeof(*segment));
	if (len >= 40 && packet[0] >> 4 == 6) {
		total = 40 + get16(packet + 4);
		segment->v6 = true;
		memcpy(segment->src, packet + 8, 16);
		memcpy(segment->dst, packet + 24, 16);
		return packet[6] == IPPROTO_TCP && total <= len &&
		       parse_tcp(packet + 40, total - 40, segment);
	}
	if (len < 20 || packet[0] >> 4 != 4)
		return false;
	head = (packet[0] & 15) * 4;
	total = get16(packet + 2);
	memcpy(segment->src, packet + 12, 4);
	memcpy(segment->dst, packet + 16, 4);
	return packet[9] == IPPROTO_TCP && !(get16(packet + 6) & 0x1fff) && head >= 20 &&
	       head <= total && total <= len && parse_tcp(packet + head, total - head, segment);
}

/* ---- which connection ---- */

static bool same(const struct segment *a, const struct segment *b)
{
	return a->v6 == b->v6 && a->sport == b->sport && a->dport == b->dport &&
	       !memcmp(a->src, b->src, 16) && !memcmp(a->dst, b->dst, 16);
}

static bool opposite(const struct segment *a, const struct segment *b)
{
	return a->v6 == b->v6 && a->sport == b->dport && a->dport == b->sport &&
	       !memcmp(a->src, b->dst, 16) && !memcmp(a->dst, b->src, 16);
}

/* The same for both directions. */
static uint32_t hash(const struct segment *segment)
{
	uint32_t sum = (uint32_t)segment->sport * segment->dport * 2654435761u;

	for (int i = 0; i < 16; i++)
		sum += (uint32_t)(segment->src[i] + segment->dst[i]) << i;
	return sum * 2654435761u >> 7;
}

/* A SYN that opens a connection where another one had the same addresses before. */
static bool reused(const struct flow *flow, const struct segment *segment)
{
	return (segment->flags & (FLAG_SYN | FLAG_ACK)) == FLAG_SYN && flow->side[0].known &&
	       segment->seq != flow->side[0].isn;
}

struct flow *flow_find(struct flow_table *table, const struct segment *segment, uint64_t now,
		       int *side)
{
	uint32_t at = hash(segment) & (table->slots - 1);
	struct flow *flow;

	for (; table->slot[at]; at = (at + 1) & (table->slots - 1)) {
		flow = &table->flows[table->slot[at] - 1];
		*side = same(segment, &flow->first) ? 0 : 1;
		if (*side == 0 && reused(flow, segment))
			break;
		if (*side == 0 || opposite(segment, &flow->first))
			return flow;
	}
	if (table->count == table->most)
		return NULL;
	flow = &table->flows[table->count++];
	table->slot[at] = flow->conn = table->count;
	flow->first = *segment;
	flow->begin = now;
	*side = 0;
	return flow;
}

/* ---- the sender's state ---- */

static int32_t flight(const struct side *side)
{
	return side->sent - side->una;
}

/* Adds the time that has passed to what was the case meanwhile. */
static void account(struct side *side, uint64_t now)
{
	uint64_t passed = now - side->since, in_flight = flight(side) > 0 ? flight(side) : 0;
	uint64_t margin = side->window / 3 > side->mss ? side->window / 3 : side->mss;

	if (!side->known || side->closed || now < side->since)
		passed = 0;
	side->since = now;
	if (side->hole)
		side->lossy += passed;
	if (!side->window)
		side->zero += passed;
	else if (in_flight + side->mss > side->window)
		side->full += passed;
	else if (!in_flight)
		side->idle += passed;
	else if (in_flight + margin > side->window)
		side->used += passed;
	else
		side->open += passed;
}

enum kind flow_sent(struct flow *flow, int which, const struct segment *segment, uint64_t now)
{
	struct side *side = &flow->side[which];
	uint32_t end = segment->seq + segment->len;
	enum kind kind = KIND_ACK;

	if (segment->flags & FLAG_SYN) {
		if (!side->known) {
			side->known = true;
			side->isn = segment->seq;
			side->scale = segment->scale;
			side->sent = side->una = segment->seq + 1;
			side->window = 65535;
			side->since = now;
		}
		kind = KIND_SYN;
	} else if (segment->len) {
		account(side, now);
		if (segment->len > side->mss)
			side->mss = segment->len;
		kind = (int32_t)(end - side->sent) > 0 ? KIND_NEW : KIND_AGAIN;
		if (flight(side) <= 0)
			side->progress = now;
		if (kind == KIND_NEW) {
			side->bytes += end - side->sent;
			side->sent = end;
			if (flight(side) > (int32_t)side->most)
				side->most = flight(side);
		}
	}
	if (segment->flags & (FLAG_FIN | FLAG_RST)) {
		account(side, now);
		side->closed = true;
	}
	side->packets[kind]++;
	return kind;
}

uint64_t flow_arrived(struct flow *flow, int which, const struct segment *segment, uint64_t now)
{
	struct side *peer = &flow->side[which], *side = &flow->side[!which];
	bool scaled = !(segment->flags & FLAG_SYN) && peer->scale >= 0 && side->scale >= 0;
	uint64_t stalled = 0;

	if (!side->known || !(segment->flags & FLAG_ACK) || segment->flags & FLAG_RST ||
	    (int32_t)(segment->ack - side->una) < 0)
		return 0;
	account(side, now);
	if (segment->ack != side->una && flight(side) > 0) {
		stalled = now - side->progress;
		side->progress = now;
		if (stalled > side->longest)
			side->longest = stalled;
	}
	side->una = segment->ack;
	if (side->hole && (int32_t)(side->una - side->hole_end) >= 0)
		side->hole = false;
	if ((int32_t)(side->sent - side->una) < 0)
		side->sent = side->una; /* its FIN */
	side->window = (uint32_t)segment->window << (scaled ? peer->scale : 0);
	return stalled;
}

void flow_dropped(struct flow *flow, int which, const struct segment *segment, uint64_t now)
{
	struct side *side = &flow->side[which];
	uint32_t end = segment->seq + segment->len;

	if (!segment->len || !side->known || (int32_t)(end - side->una) <= 0)
		return;
	account(side, now);
	if (!side->hole) {
		side->hole = true;
		side->hole_end = end;
		side->holes++;
	} else if ((int32_t)(end - side->hole_end) > 0) {
		side->hole_end = end;
	}
}

/* ---- output ---- */

static void print_side(const struct side *side, FILE *out)
{
	fprintf(out, "{\"new\":%lu,\"again\":%lu,\"acks\":%lu,\"bytes\":%lu,\"mss\":%u,"
		     "\"idle_ns\":%lu,\"open_ns\":%lu,\"used_ns\":%lu,\"full_ns\":%lu,"
		     "\"zero_ns\":%lu,\"lossy_ns\":%lu,\"holes\":%lu,\"longest_ns\":%lu,"
		     "\"flight\":%d,\"most\":%u,\"window\":%u}",
		side->packets[KIND_NEW], side->packets[KIND_AGAIN], side->packets[KIND_ACK],
		side->bytes, side->mss, side->idle, side->open, side->used, side->full,
		side->zero, side->lossy, side->holes, side->longest, flight(side), side->most,
		side->window);
}

void flow_print(struct flow_table *table, uint64_t now, FILE *out)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

	for (unsigned int i = 0; i < table->count; i++) {
		struct flow *flow = &table->flows[i];
		int family = flow->first.v6 ? AF_INET6 : AF_INET;

		inet_ntop(family, flow->first.src, src, sizeof(src));
		inet_ntop(family, flow->first.dst, dst, sizeof(dst));
		fprintf(out, "{\"act\":\"flow\",\"conn\":%u,\"src\":\"%s\",\"sport\":%u,"
			     "\"dst\":\"%s\",\"dport\":%u,\"begin\":%lu,\"sides\":[",
			flow->conn, src, flow->first.sport, dst, flow->first.dport, flow->begin);
		for (int side = 0; side < 2; side++) {
			account(&flow->side[side], now);
			print_side(&flow->side[side], out);
			fputs(side ? "]}\n" : ",", out);
		}
	}
}
