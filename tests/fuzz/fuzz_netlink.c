/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a datagram of rtnetlink: messages, attributes, nested ones, strings, and the answer
 * to the question for a route. Nothing is read outside of the datagram, which ends at the end of
 * its memory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "host/netlink.h"
#include "net/nic.h"

#define TYPES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bounds {
	const char *from, *to;
	size_t seen;
};

static void look_at(const struct bounds *b, const struct rtattr *const *table)
{
	char text[8];

	for (int i = 0; i <= TYPES; i++) {
		if (!table[i])
			continue;
		BUG_ON((const char *)table[i] < b->from);
		BUG_ON((const char *)table[i] + table[i]->rta_len > b->to);
		netlink_string(table[i], text, sizeof(text));
		BUG_ON(strlen(text) >= sizeof(text));
	}
}

static int visit(void *ctx, const struct nlmsghdr *msg)
{
	const struct rtattr *table[TYPES + 1], *nested[TYPES + 1];
	struct bounds *b = ctx;

	BUG_ON((const char *)msg < b->from || (const char *)msg + msg->nlmsg_len > b->to);
	b->seen += msg->nlmsg_len;
	BUG_ON(b->seen > (size_t)(b->to - b->from));
	netlink_attrs(msg, msg->nlmsg_type % 40, table, TYPES);
	look_at(b, table);
	for (int i = 0; i <= TYPES; i++) {
		netlink_nested(table[i], nested, TYPES);
		look_at(b, nested);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool changed = false;
	struct bounds b;
	char *bytes;

	if (!size || size > 65536)
		return 0;
	bytes = malloc(size); /* so that a byte behind it is a fault */
	BUG_ON(!bytes);
	memcpy(bytes, data, size);
	b = (struct bounds){ .from = bytes, .to = bytes + size };
	netlink_answers(bytes, size, &changed, visit, &b);
	if (size >= sizeof(struct nlmsghdr))
		net_nic_route_answer(bytes, size);
	free(bytes);
	return 0;
}
