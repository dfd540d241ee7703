/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of rtnetlink whose last message or attribute isn't padded, or is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "host/netlink.h"
#include "net/nic.h"

struct answer {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr first;
	uint32_t index;
};

struct messages {
	int n;
	uint32_t bytes;
};

static int count(void *ctx, const struct nlmsghdr *msg)
{
	struct messages *m = ctx;

	m->n++;
	m->bytes += msg->nlmsg_len;
	return m->n > 10 ? -ELOOP : 0;
}

/* The datagram lies before memory that looks like more messages. */
static void test_unpadded_message(void **state)
{
	_Alignas(4) unsigned char bytes[4096];
	struct nlmsghdr *head = (void *)bytes;
	struct messages m = { 0 };
	bool changed = false;

	(void)state;
	for (size_t at = 0; at + sizeof(*head) <= sizeof(bytes); at += 20)
		*(struct nlmsghdr *)(bytes + at) =
			(struct nlmsghdr){ .nlmsg_len = 20, .nlmsg_type = RTM_NEWLINK };
	head->nlmsg_len = 17;
	assert_int_equal(netlink_answers(bytes, 17, &changed, count, &m), 0);
	assert_int_equal(m.n, 1);
	head->nlmsg_len = 20; /* control: two whole ones */
	m = (struct messages){ 0 };
	assert_int_equal(netlink_answers(bytes, 40, &changed, count, &m), 0);
	assert_int_equal(m.n, 2);
	assert_int_equal(m.bytes, 40);
}

static void test_route(void **state)
{
	struct {
		struct answer a;
		struct rtattr behind; /* not of the message */
		uint32_t index;
	} bytes = {
		.a = { .head = { .nlmsg_len = sizeof(struct answer), .nlmsg_type = RTM_NEWROUTE },
		       .first = { .rta_len = 8, .rta_type = RTA_OIF }, .index = 7 },
		.behind = { .rta_len = 8, .rta_type = RTA_OIF }, .index = 9,
	};

	(void)state;
	assert_int_equal(net_nic_route_answer(&bytes, sizeof(bytes.a)), 7); /* control */
	bytes.a.first.rta_type = RTA_DST;
	assert_int_equal(net_nic_route_answer(&bytes, sizeof(bytes.a)), -ENODEV);
	bytes.a.first.rta_len = 5; /* its padding is not there */
	bytes.a.head.nlmsg_len = sizeof(struct answer) - 3;
	assert_int_equal(net_nic_route_answer(&bytes, sizeof(bytes.a) - 3), -ENODEV);
	bytes.a.head.nlmsg_len = sizeof(struct nlmsghdr); /* no route in it */
	assert_int_equal(net_nic_route_answer(&bytes, sizeof(bytes.a)), -ENODEV);
	bytes.a.head.nlmsg_type = NLMSG_ERROR;
	assert_int_equal(net_nic_route_answer(&bytes, sizeof(struct nlmsghdr)), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unpadded_message),
		cmocka_unit_test(test_route),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
