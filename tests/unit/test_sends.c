/* SPDX-License-Identifier: Apache-2.0 */
/* Which packet took a send call's last byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "probe/packet/sends.h"

#define TEXT 4096

static struct sends *sends;
static char said[TEXT];
static uint32_t n_done;

/* "call's first byte @ when its packet was given": what there is to see of a pair. */
static int done(void *ctx, const struct msg_send *call, const struct msg_packet *packet)
{
	size_t at = strlen(said);

	assert_null(ctx);
	n_done++;
	if (at + 32 < TEXT)
		snprintf(said + at, TEXT - at, "%u@%llu ", call->seq,
			 (unsigned long long)packet->times.given);
	return 0;
}

static void begin(void)
{
	sends_free(sends);
	said[0] = '\0';
	n_done = 0;
	assert_int_equal(sends_new(&sends, done, NULL), 0);
}

static void call(uint64_t sk, uint32_t seq, uint32_t bytes)
{
	const struct msg_send c = { .sk = sk, .born = 1, .seq = seq, .bytes = bytes };

	assert_int_equal(sends_call(sends, &c), 0);
}

static void packet(uint64_t sk, uint32_t seq, uint32_t bytes, uint64_t given)
{
	const struct msg_packet p = {
		.times = { .sk = sk, .born = 1, .seq = seq, .bytes = bytes, .given = given },
	};

	assert_int_equal(sends_packet(sends, &p), 0);
}

static void datagram(uint64_t since, uint64_t given)
{
	const struct msg_send c = { .sk = 9, .since = since, .seq = 0, .bytes = 5 };
	const struct msg_packet p = { .times = { .sk = 9, .since = since, .given = given } };

	if (!given)
		assert_int_equal(sends_call(sends, &c), 0);
	else
		assert_int_equal(sends_packet(sends, &p), 0);
}

static void expect(const char *what)
{
	assert_string_equal(said, what);
}

static void one_call_one_packet(void **state)
{
	(void)state;
	begin();
	call(1, 100, 50);
	packet(1, 100, 50, 7);
	expect("100@7 ");
	packet(1, 150, 50, 8); /* told while the call goes on: loopback */
	expect("100@7 ");
	call(1, 150, 50);
	expect("100@7 150@8 ");
}

static void many_to_one(void **state)
{
	(void)state;
	begin();
	call(1, 0, 10);
	call(1, 10, 10);
	call(1, 20, 10);
	packet(1, 0, 25, 5); /* part of the third call, without its last byte */
	expect("0@5 10@5 ");
	packet(1, 25, 5, 6);
	expect("0@5 10@5 20@6 ");
}

static void one_to_many(void **state)
{
	(void)state;
	begin();
	for (uint32_t i = 0; i < 5; i++)
		packet(1, i * 100, 100, i + 1);
	call(1, 0, 450);
	expect("0@5 ");
	call(1, 450, 50);
	expect("0@5 450@5 ");
}

static void sent_again(void **state)
{
	(void)state;
	begin();
	call(1, 0, 100);
	packet(1, 0, 100, 1);
	packet(1, 0, 100, 2);
	expect("0@1 ");
	packet(1, 100, 100, 3);
	packet(1, 100, 100, 4);
	call(1, 100, 100);
	expect("0@1 100@3 ");
}

/* The second packet is reported first; nothing is mixed up between two sockets. */
static void overtaken_packets(void **state)
{
	(void)state;
	begin();
	call(1, 0, 100);
	call(2, 0, 100);
	call(1, 100, 100);
	packet(1, 100, 100, 2);
	expect("100@2 ");
	packet(2, 0, 100, 3);
	packet(1, 0, 100, 4);
	expect("100@2 0@3 0@4 ");
}

static void around_zero(void **state)
{
	(void)state;
	begin();
	call(1, 0xffffff00u, 0x200);
	packet(1, 0xffffff00u, 0x100, 1); /* its end is at 0 */
	expect("");
	packet(1, 0, 0x100, 2);
	expect("4294967040@2 ");
}

/* Another socket reuses the address: the rest of the first one's data is not its. */
static void reused_address(void **state)
{
	const struct msg_packet other = {
		.times = { .sk = 1, .born = 2, .seq = 0, .bytes = 100, .given = 1 },
	};

	(void)state;
	begin();
	call(1, 0, 100);
	assert_int_equal(sends_packet(sends, &other), 0);
	expect("");
	packet(1, 0, 100, 3);
	expect("0@3 ");
}

static void datagrams(void **state)
{
	(void)state;
	begin();
	datagram(10, 0);
	datagram(11, 0);
	datagram(11, 3);
	datagram(10, 4);
	expect("0@3 0@4 ");
	datagram(10, 5); /* a packet of none */
	expect("0@3 0@4 ");
}

/* A datagram that was dropped ends its call, and is no message. */
static void dropped(void **state)
{
	const struct msg_packet p = { .times = { .sk = 9, .since = 10 } };

	(void)state;
	begin();
	datagram(10, 0);
	assert_int_equal(sends_packet(sends, &p), 0);
	datagram(10, 4);
	expect("");
}

/* When memory is full the oldest call goes; packets that belong to no call are ignored. */
static void oldest_call_is_forgotten(void **state)
{
	(void)state;
	begin();
	for (uint32_t i = 0; i < SENDS_NODES; i++)
		packet(1, i * 10, 10, 1);
	assert_int_equal(sends_forgotten(sends), 0);
	for (uint32_t i = 0; i < SENDS_NODES; i++)
		call(2 + i, 0, 10);
	assert_int_equal(sends_forgotten(sends), 0);
	call(1, 0, 10);
	assert_int_equal(sends_forgotten(sends), 1);
	packet(2, 0, 10, 5);
	expect("");
	packet(4, 0, 10, 6); /* the one before has taken the place of the third's call */
	expect("0@6 ");
}

/*
 * Sockets whose calls and packets are cut anywhere and told in any order in which they can be:
 * each call ends once, with the packet that has its last byte.
 */
#define SOCKETS 50
#define CALLS 40

struct cut {
	uint32_t call[CALLS + 1], packet[CALLS + 1];
	uint32_t calls, packets;
};

static int fits(void *ctx, const struct msg_send *c, const struct msg_packet *p)
{
	uint32_t end = c->seq + c->bytes - p->times.seq;

	assert_null(ctx);
	assert_int_equal(c->sk, p->times.sk);
	assert_true(end > 0 && end <= p->times.bytes);
	n_done++;
	return 0;
}

static void in_any_order(void **state)
{
	static struct cut cuts[SOCKETS];
	uint32_t left = 2 * SOCKETS * CALLS;
	struct rng rng;

	(void)state;
	begin();
	sends_free(sends);
	assert_int_equal(sends_new(&sends, fits, NULL), 0);
	rng_init(&rng, 5);
	for (uint32_t s = 0; s < SOCKETS; s++) {
		uint32_t start = (uint32_t)rng_u64(&rng), end = start + CALLS * 100;

		cuts[s].call[0] = cuts[s].packet[0] = start;
		for (uint32_t i = 1; i < CALLS; i++) {
			cuts[s].call[i] = start + i * 100 - (uint32_t)(rng_u64(&rng) % 90);
			cuts[s].packet[i] = start + i * 100 - (uint32_t)(rng_u64(&rng) % 90);
		}
		cuts[s].call[CALLS] = cuts[s].packet[CALLS] = end;
	}
	while (left) {
		struct cut *c = &cuts[rng_u64(&rng) % SOCKETS];
		uint32_t sk = (uint32_t)(c - cuts) + 1, i;

		if (rng_u64(&rng) & 1 && c->calls < CALLS) {
			i = c->calls++;
			call(sk, c->call[i], c->call[i + 1] - c->call[i]);
			left--;
		} else if (c->packets < CALLS) {
			i = c->packets++;
			packet(sk, c->packet[i], c->packet[i + 1] - c->packet[i], 1);
			left--;
		}
	}
	assert_int_equal(n_done, SOCKETS * CALLS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_call_one_packet), cmocka_unit_test(many_to_one),
		cmocka_unit_test(one_to_many), cmocka_unit_test(sent_again),
		cmocka_unit_test(overtaken_packets), cmocka_unit_test(around_zero),
		cmocka_unit_test(reused_address), cmocka_unit_test(datagrams),
		cmocka_unit_test(dropped), cmocka_unit_test(oldest_call_is_forgotten),
		cmocka_unit_test(in_any_order),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	sends_free(sends);
	return failed;
}
