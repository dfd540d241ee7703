/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inet_diag's answers, whole, cut and absurd, and what a sample of them finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>

#include "diag_answer.h"
#include "probe/connection/diag_state.h"

struct taken {
	struct diag_sock last;
	unsigned int n;
	int result;
};

static int take(void *ctx, const struct diag_sock *sock)
{
	struct taken *t = ctx;

	t->last = *sock;
	t->n++;
	return t->result;
}

/* From memory of exactly that size, so that reading beyond it is seen. */
static int read_bytes(const void *data, size_t size, struct taken *t)
{
	void *copy = malloc(size + !size);
	int result;

	assert_non_null(copy);
	memcpy(copy, data, size);
	result = diag_read(copy, size, ANSWER_SEQ, take, t);
	free(copy);
	return result;
}

static int read_answer(const struct answer *a, struct taken *t)
{
	*t = (struct taken){ .n = 0 };
	return read_bytes(a->bytes, a->size, t);
}

/* ---- the reader ---- */

static void test_complete_answer(void **state)
{
	struct answer a = { .size = 0 };
	struct answer_sock s;
	struct taken t;

	(void)state;
	answer_sock_init(&s, 0x123456789aULL);
	s.info.bytes_sent = 1ULL << 40;
	s.info.total_rto = 3;
	s.above = "tls";
	answer_add(&a, &s);
	assert_int_equal(read_answer(&a, &t), 0);
	answer_end(&a, NLMSG_DONE, 0);
	assert_int_equal(read_answer(&a, &t), 1);
	assert_int_equal(t.n, 1);
	assert_true(t.last.cookie == 0x123456789aULL);
	assert_int_equal(t.last.local_port, 1000);
	assert_int_equal(t.last.remote_port, 2000);
	assert_memory_equal(t.last.remote, "\x0a\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(t.last.inode, 4711);
	assert_true(t.last.info.bytes_sent == 1ULL << 40);
	assert_int_equal(t.last.info.total_rto, 3);
	assert_int_equal(t.last.info_size, 248);
	assert_int_equal(t.last.has, DIAG_MEMORY | DIAG_KTLS);
	assert_int_equal(t.last.sndbuf, 87040);
	assert_int_equal(t.last.rcvbuf, 131072);
	assert_int_equal(t.last.wmem_queued, 20);
	assert_int_equal(t.last.rmem, 10);
	assert_string_equal(t.last.cc, "cubic");
}

/* Missing data is absent: no attributes, a short tcp_info, cut memory information, a long name. */
static void test_missing_attributes(void **state)
{
	struct answer a = { .size = 0 };
	struct answer_sock s;
	struct taken t;

	(void)state;
	answer_sock_init(&s, 1);
	s.info_size = 0;
	s.memory = NULL;
	s.cc = "a_name_that_is_far_too_long";
	s.above = "mptcp";
	answer_add(&a, &s);
	assert_int_equal(read_answer(&a, &t), 0);
	assert_int_equal(t.last.has, DIAG_MPTCP);
	assert_int_equal(t.last.info_size, 0);
	assert_false(diag_has_bytes(&t.last));
	assert_string_equal(t.last.cc, "a_name_that_is_");

	a.size = 0;
	answer_sock_init(&s, 1);
	memset(&s.info, 0xff, sizeof(s.info));
	s.info_size = 216; /* 4.19: up to bytes_retrans */
	answer_add(&a, &s);
	assert_int_equal(read_answer(&a, &t), 0);
	assert_true(diag_has_bytes(&t.last));
	assert_true(t.last.info.bytes_retrans == UINT64_MAX);
	assert_int_equal(t.last.info.dsack_dups, 0);
	assert_int_equal(t.last.info.snd_wnd, 0);
	assert_false(diag_is_shut(&t.last)); /* unknown is not 0 */
	s.info_size = 215;
	a.size = 0;
	answer_add(&a, &s);
	read_answer(&a, &t);
	assert_false(diag_has_bytes(&t.last));
}

static void test_known_fields_of_each_kernel(void **state)
{
	const uint32_t with_times = CONN_KNOWS_TIMES | CONN_KNOWS_GAUGES | CONN_KNOWS_CHRONO |
				    CONN_KNOWS_SPURIOUS;

	(void)state;
	assert_int_equal(diag_known(0, true), 0);
	assert_int_equal(diag_known(191, true), 0);
	assert_int_equal(diag_known(192, true), CONN_KNOWS_CHRONO);
	assert_int_equal(diag_known(224, true), CONN_KNOWS_CHRONO | CONN_KNOWS_SPURIOUS);
	assert_int_equal(diag_known(231, true), CONN_KNOWS_CHRONO | CONN_KNOWS_SPURIOUS);
	assert_int_equal(diag_known(232, true), with_times);
	assert_int_equal(diag_known(232, false), CONN_KNOWS_CHRONO | CONN_KNOWS_SPURIOUS);
	assert_int_equal(diag_known(240, true), with_times | CONN_KNOWS_RCV_WND);
	assert_int_equal(diag_known(248, true), with_times | CONN_KNOWS_RCV_WND | CONN_KNOWS_RTO);
}

static void test_errors(void **state)
{
	struct answer a = { .size = 0 };
	struct answer_sock s;
	struct taken t;

	(void)state;
	answer_end(&a, NLMSG_ERROR, -ENOENT);
	assert_int_equal(read_answer(&a, &t), -ENOENT);
	a.size = 0;
	answer_end(&a, NLMSG_ERROR, 0); /* an acknowledgement of what asked for none */
	assert_int_equal(read_answer(&a, &t), -EPROTO);
	a.size = 0;
	answer_end(&a, NLMSG_DONE, -EINVAL);
	assert_int_equal(read_answer(&a, &t), -EINVAL);
	a.size = 0;
	answer_end(&a, NLMSG_DONE, 5);
	assert_int_equal(read_answer(&a, &t), -EPROTO);

	a.size = 0;
	answer_sock_init(&s, 1);
	answer_add(&a, &s);
	answer_add(&a, &s);
	t = (struct taken){ .result = -ENOMEM };
	assert_int_equal(read_bytes(a.bytes, a.size, &t), -ENOMEM);
	assert_int_equal(t.n, 1);
	t = (struct taken){ .n = 0 }; /* another request's */
	assert_int_equal(diag_read(a.bytes, a.size, ANSWER_SEQ + 1, take, &t), 0);
	assert_int_equal(t.n, 0);
}

/* Impossible sockets: without a family, without a cookie. */
static void test_impossible_sockets(void **state)
{
	struct answer a = { .size = 0 };
	struct answer_sock s;
	struct taken t;

	(void)state;
	answer_sock_init(&s, 0);
	answer_add(&a, &s);
	answer_sock_init(&s, UINT64_MAX);
	answer_add(&a, &s);
	answer_sock_init(&s, 1);
	s.msg.idiag_family = AF_UNIX;
	answer_add(&a, &s);
	assert_int_equal(read_answer(&a, &t), 0);
	assert_int_equal(t.n, 0);
}

/* An answer is cut anywhere and each byte is changed: parsing ends, and never reads beyond. */
static void test_damaged_answer_is_bounded(void **state)
{
	struct answer a = { .size = 0 };
	struct answer_sock s;
	struct taken t;

	(void)state;
	answer_sock_init(&s, 1);
	s.above = "tls";
	answer_add(&a, &s);
	answer_end(&a, NLMSG_DONE, 0);
	for (size_t size = 0; size < a.size; size++) {
		t = (struct taken){ .n = 0 };
		/* Less than a header says nothing. */
		assert_true(read_bytes(a.bytes, size, &t) != 1);
	}
	for (size_t i = 0; i < a.size; i++)
		for (int bit = 0; bit < 8; bit++) {
			a.bytes[i] ^= 1U << bit;
			t = (struct taken){ .n = 0 };
			read_bytes(a.bytes, a.size, &t);
			assert_true(t.n <= 1);
			assert_non_null(memchr(t.last.cc, '\0', sizeof(t.last.cc)));
			a.bytes[i] ^= 1U << bit;
		}
}

/* An attribute that claims to be longer than its message is ignored. */
static void test_attribute_beyond_its_message(void **state)
{
	struct answer a = { .size = 0 };
	struct answer_sock s;
	struct nlattr *attr;
	struct taken t;

	(void)state;
	answer_sock_init(&s, 1);
	s.info_size = 0;
	s.memory = NULL;
	s.cc = "bbr"; /* no bytes are left behind it */
	answer_add(&a, &s);
	assert_int_equal(read_answer(&a, &t), 0);
	assert_string_equal(t.last.cc, "bbr");
	attr = (struct nlattr *)(void *)(a.bytes + a.size - 4 - sizeof(*attr));
	attr->nla_len++;
	assert_int_equal(read_answer(&a, &t), 0);
	assert_int_equal(t.n, 1);
	assert_string_equal(t.last.cc, "");
}

/* ---- states in a sample ---- */

/* A connection that has `unsent` bytes, and `out` segments under way; nothing limits it. */
static struct diag_sock busy(uint32_t unsent, uint32_t out)
{
	return (struct diag_sock){
		.family = AF_INET, .state = TCP_ESTABLISHED, .cookie = 1, .has = DIAG_MEMORY,
		.info_size = sizeof(struct diag_info), .wqueue = out * 1000 + unsent,
		.sndbuf = 87040, .wmem_queued = 1000, .rcvbuf = 131072,
		.info = { .notsent_bytes = unsent, .unacked = out, .snd_mss = 1000,
			  .snd_cwnd = 10, .snd_wnd = 65536 },
	};
}

static void test_states(void **state)
{
	struct diag_sock s = busy(0, 0);

	(void)state;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_IDLE);
	s = busy(0, 3);
	assert_int_equal(diag_sampled_state(&s), CONN_AT_FLIGHT);
	s.info.retrans = 1;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_RECOVERY);
	s.info.retrans = 0;
	s.info.ca_state = TCP_CA_Loss;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_RECOVERY);
	s.info.ca_state = TCP_CA_CWR;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_FLIGHT);

	s = busy(5000, 3);
	assert_int_equal(diag_sampled_state(&s), CONN_AT_CWND);
	s.info.snd_wnd = 3999;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_WINDOW);
	s.info.snd_wnd = 4000;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_CWND);
	s = busy(500, 10);
	assert_int_equal(diag_sampled_state(&s), CONN_AT_CWND);
	s.info.sacked = 1; /* nine are out: it is Nagle's, or paced, or an ACK is delayed */
	assert_int_equal(diag_sampled_state(&s), CONN_AT_MAX);
	s = busy(500, 0);
	assert_int_equal(diag_sampled_state(&s), CONN_AT_MAX);
}

static void test_buffer(void **state)
{
	struct diag_sock s = busy(500, 3);

	(void)state;
	s.wmem_queued = 87040 - 87040 / 3;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_SEND_BUFFER);
	s.wmem_queued--;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_MAX);
	s = busy(1000, 3); /* the window may have limited it */
	s.wmem_queued = 87040;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_MAX);
	s = busy(0, 3);
	s.wmem_queued = 87040;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_SEND_BUFFER);
	s = busy(0, 10);
	s.wmem_queued = 87040;
	assert_int_equal(diag_sampled_state(&s), CONN_AT_FLIGHT);
	s = busy(0, 3);
	s.wmem_queued = 87040;
	s.has = 0; /* sndbuf is not told */
	assert_int_equal(diag_sampled_state(&s), CONN_AT_MAX);
	s = busy(5000, 3);
	s.info_size = 228; /* nor the window */
	assert_int_equal(diag_sampled_state(&s), CONN_AT_MAX);

	s = busy(0, 0);
	s.rqueue = 1;
	s.rmem = 131072 - 131072 / 4;
	assert_true(diag_is_unread(&s));
	s.rmem--;
	assert_false(diag_is_unread(&s));
	s.rmem++;
	s.rqueue = 0;
	assert_false(diag_is_unread(&s));
}

static void test_mapped(void **state)
{
	struct diag_sock s = busy(0, 0);
	struct conn_now now;

	(void)state;
	s.family = AF_INET6;
	inet_pton(AF_INET6, "::ffff:10.0.0.1", s.local);
	inet_pton(AF_INET6, "::ffff:10.0.0.2", s.remote);
	diag_now(&s, &now);
	assert_int_equal(now.family, AF_INET);
	assert_int_equal(now.flags, CONN_MAPPED | CONN_FROM_DIAG);
	assert_memory_equal(now.remote, "\x0a\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	inet_pton(AF_INET6, "2001:db8::1", s.remote);
	diag_now(&s, &now);
	assert_int_equal(now.family, AF_INET6);
	assert_int_equal(now.flags, CONN_FROM_DIAG);
	assert_true(now.pacing_rate == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete_answer),
		cmocka_unit_test(test_missing_attributes),
		cmocka_unit_test(test_known_fields_of_each_kernel),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_impossible_sockets),
		cmocka_unit_test(test_damaged_answer_is_bounded),
		cmocka_unit_test(test_attribute_beyond_its_message),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
