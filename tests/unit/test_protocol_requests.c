/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests byte for byte, in buffers of just the promised size, and the replies of protocols with
 * ids: datagrams in any order, several to a reply, lost or doubled.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "base/version.h"
#include "load/memcached.h"
#include "load/protocol.h"
#include "load/r2p2.h"
#include "load/synthetic.h"
#include "load/wire.h"
#include "load/workload.h"

static void make(struct workload *w, struct target *t, const char *url, const char *text)
{
	struct strbuf why = STRBUF_INIT(4096);

	if (target_parse(url, t, &why) || workload_parse(w, text, t, &why))
		fail_msg("%s %s: %s", url, text, strbuf_str(&why));
	strbuf_release(&why);
}

/* "@" stands for the next four bytes of the value; AGENT for the field that tells the version. */
#define AGENT "User-Agent: hostlat/#\r\n"

static void check_bytes(const char *name, const struct workload *w, const char *expected,
			size_t expected_size, const char *got, size_t size)
{
	const char *value = workload_bytes(w);
	size_t at = 0;

	for (size_t i = 0; i < expected_size; i++) {
		const bool version = expected[i] == '#' && w->http;
		size_t n = expected[i] == '@' ? 4 : version ? strlen(hostlat_version()) : 1;
		const char *want = expected[i] == '@' ? value : version ? hostlat_version() :
				   expected + i;

		value += expected[i] == '@' ? 4 : 0;
		if (at + n > size || memcmp(got + at, want, n) != 0)
			fail_msg("%s: differs at byte %zu: %.*s", name, at, (int)size, got);
		at += n;
	}
	assert_int_equal(at, size);
}

#define ROW(url, text, expected) { url, text, expected, sizeof(expected) - 1 }

static void test_requests(void **state)
{
	static const struct {
		const char *url, *text, *expected;
		size_t size;
	} rows[] = {
		ROW("memcached://h", "keys=1,key=3", "get 000\r\n"),
		ROW("memcached://h", "keys=1,key=3,value=4,read=0", "set 000 0 0 4\r\n@\r\n"),
		ROW("memcached://h", "keys=1,key=3,delete=1", "delete 000\r\n"),
		ROW("memcached://h", "keys=1,key=3,gets=1", "gets 000\r\n"),
		ROW("memcached-meta://h", "keys=1,key=3", "mg 000 v\r\n"),
		ROW("memcached-meta://h", "keys=1,key=3,value=4,read=0", "ms 000 4\r\n@\r\n"),
		ROW("memcached-meta://h", "keys=1,key=3,delete=1", "md 000\r\n"),
		ROW("redis://h", "keys=1,key=3,delete=1", "*2\r\n$3\r\nDEL\r\n$3\r\n000\r\n"),
		ROW("redis://h", "keys=1,key=3", "*2\r\n$3\r\nGET\r\n$3\r\n000\r\n"),
		ROW("rediss://h", "keys=1,key=12,value=4,read=0",
		    "*3\r\n$3\r\nSET\r\n$12\r\n000000000000\r\n$4\r\n@\r\n"),
		ROW("http://h", "keys=1", "GET / HTTP/1.1\r\nHost: h\r\n" AGENT "\r\n"),
		ROW("http://h:80/a?b", "keys=1", "GET /a?b HTTP/1.1\r\nHost: h\r\n" AGENT "\r\n"),
		ROW("https://h:80/", "keys=1", "GET / HTTP/1.1\r\nHost: h:80\r\n" AGENT "\r\n"),
		ROW("http://[::1]:8080/", "keys=1",
		    "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n" AGENT "\r\n"),
		ROW("http://[fe80::1%25eth0]:8080", "keys=1",
		    "GET / HTTP/1.1\r\nHost: [fe80::1]:8080\r\n" AGENT "\r\n"),
		ROW("http+unix:///s:/x", "keys=1",
		    "GET /x HTTP/1.1\r\nHost: localhost\r\n" AGENT "\r\n"),
		ROW("http://h", "value=4,read=0",
		    "POST / HTTP/1.1\r\nHost: h\r\n" AGENT
		    "Content-Type: application/octet-stream\r\n"
		    "Content-Length: 4\r\n\r\n@"),
		ROW("memcached-binary://h", "keys=1,key=3",
		    "\x80\0\0\3\0\0\0\0\0\0\0\3\x12\x34\x56\x78\0\0\0\0\0\0\0\0" "000"),
		ROW("memcached-binary://h", "keys=1,key=3,value=4,read=0",
		    "\x80\1\0\3\x8\0\0\0\0\0\0\xf\x12\x34\x56\x78\0\0\0\0\0\0\0\0"
		    "\0\0\0\0\0\0\0\0" "000@"),
		ROW("memcached-binary://h", "keys=1,key=3,delete=1",
		    "\x80\4\0\3\0\0\0\0\0\0\0\3\x12\x34\x56\x78\0\0\0\0\0\0\0\0" "000"),
		ROW("udp+memcached://h", "keys=1,key=3,delete=1",
		    "\x56\x78\0\0\0\1\0\0delete 000\r\n"),
		ROW("udp+memcached://h", "keys=1,key=3", "\x56\x78\0\0\0\1\0\0get 000\r\n"),
		ROW("echo://h", "request=28", "HE\1\0\x12\x34\x56\x78\0\0\0\x1c@@@@"),
		ROW("null:", "request=28", "HE\1\0\x12\x34\x56\x78\0\0\0\x1c@@@@"),
		ROW("synthetic://h", "request=28,reply=1000,service=5us",
		    "HQ\1\0\x12\x34\x56\x78\0\0\0\x1c\0\0\3\xe8\0\0\0\0\0\0\x13\x88@"),
		ROW("synthetic://h", "request=1,reply=1",
		    "HQ\1\1\x12\x34\x56\x78\0\0\0\x18\0\0\0\x28\0\0\0\0\0\0\0\0"),
		ROW("r2p2://h", "request=24,reply=65,service=1h",
		    "\xcc\x8\0\xc0\x56\x78\0\1HQ\1\0\x12\x34\x56\x78\0\0\0\x18\0\0\0\x41"
		    "\0\0\3\x46\x30\xb8\xa0\0"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char buffer[4096];
		struct encoded_request out = { 0 };
		struct workload w;
		struct target t;
		struct rng rng;

		make(&w, &t, rows[i].url, rows[i].text);
		rng_init(&rng, 1);
		assert_int_equal(protocol_encode(t.protocol, &w, &rng, 0x12345678, buffer,
						 sizeof(buffer), &out), 0);
		check_bytes(rows[i].url, &w, rows[i].expected, rows[i].size, buffer, out.size);
		if (t.protocol->matched_by_id)
			assert_int_equal(out.id, t.protocol->datagram ? 0x5678 : 0x12345678);
		assert_true(w.share[out.type] == 1);
		workload_release(&w);
	}
}

/* Encodes the workload's next request; `type`: that of the same request, if it was begun. */
static void check_encoded(const struct workload *w, uint16_t type, uint16_t expected_type,
			  const char *expected)
{
	struct encoded_request out = { .type = type };
	char buffer[4096];
	struct rng rng;

	rng_init(&rng, 1);
	assert_int_equal(protocol_encode(protocol_find("memcached"), w, &rng, 0, buffer,
					 sizeof(buffer), &out), 0);
	assert_int_equal(out.type, expected_type);
	assert_int_equal(out.size, strlen(expected));
	assert_memory_equal(buffer, expected, out.size);
}

/* A cas sends the number that gets has returned, once; a request that was begun stays itself. */
static void test_cas(void **state)
{
	static const char gets[] = "gets 0\r\n", item[] = "VALUE 0042 0 1 77\r\nx\r\nEND\r\n";
	struct reply_parser parser = { 0 };
	struct reply reply = { 0 };
	struct workload w;
	struct target t;
	size_t used;

	(void)state;
	make(&w, &t, "memcached://h", "keys=1,key=1,value=0,cas=1");
	check_encoded(&w, 0, OPERATION_GETS, gets);
	assert_int_equal(memcached_parse(&parser, OPERATION_GETS, item, sizeof(item) - 1, &used,
					 &reply), 1);
	assert_int_equal(reply.key, 42);
	assert_int_equal(reply.cas, 77);
	workload_note_cas(&w, 0, 77);
	check_encoded(&w, OPERATION_GETS, OPERATION_GETS, gets);
	check_encoded(&w, 0, OPERATION_CAS, "cas 0 0 0 0 00000000000000000077\r\n\r\n");
	check_encoded(&w, OPERATION_CAS, OPERATION_CAS,
		      "cas 0 0 0 0 00000000000000000077\r\n\r\n");
	check_encoded(&w, 0, OPERATION_GETS, gets);
	workload_note_cas(&w, 0, 78);
	check_encoded(&w, 0, OPERATION_CAS, "cas 0 0 0 0 00000000000000000078\r\n\r\n");
	workload_release(&w);
}

/* With the promised size nothing fails; with any less nothing is written beyond it. */
static void test_buffer(void **state)
{
	static const char *const workloads[] = {
		"etc,keys=1000000000,read=0.5", "key=250,value=100,read=0.5,request=0,reply=9",
		"usr,request=uniform:0:1K,service=pareto:0:1ms:10",
		"etc,keys=1000000000,key=250,delete=0.5", "read=0.3,head=0.3,value=uniform:0:1K",
		"etc,keys=1000000000,key=250,cas=0.5,gets=0.1",
	};

	(void)state;
	for (const struct protocol *p = protocols; p->name; p++) {
		char url[64];

		if (p->session)
			continue;
		snprintf(url, sizeof(url), p->no_network ? "%s:" : "%s://h", p->name);
		for (size_t i = 0; i < ARRAY_LEN(workloads); i++) {
			struct encoded_request out = { 0 };
			struct workload w;
			struct target t;
			struct rng rng;
			size_t max;
			char *buffer;

			if (p->put &&
			    ((strstr(workloads[i], "delete") && !p->put[OPERATION_DELETE]) ||
			     (strstr(workloads[i], "cas") && !p->put[OPERATION_CAS]) ||
			     (strstr(workloads[i], "head") && !p->put[OPERATION_HEAD])))
				continue;
			make(&w, &t, url, workloads[i]);
			max = workload_request_max(&w);
			rng_init(&rng, i);
			buffer = malloc(max);
			assert_non_null(buffer);
			for (int n = 0; n < 3000; n++) {
				assert_int_equal(protocol_encode(p, &w, &rng, (uint32_t)n, buffer,
								 max, &out), 0);
				assert_true(out.size <= max);
				if (protocol_stores(p))
					assert_int_equal(protocol_encode_store(p, &w, (uint64_t)n,
									       buffer, max, &out),
							 0);
			}
			free(buffer);
			for (size_t cap = 0; cap < 400; cap++) {
				buffer = malloc(cap ? cap : 1);
				assert_non_null(buffer);
				if (protocol_encode(p, &w, &rng, 0, buffer, cap, &out) == 0)
					assert_true(out.size <= cap);
				free(buffer);
			}
			workload_release(&w);
		}
	}
}

/* ---- memcached's datagrams ---- */

static int udp(struct reply_parser *parser, unsigned id, unsigned number, unsigned total,
	       const char *text, struct reply *out)
{
	uint8_t *datagram = malloc(8 + strlen(text));
	size_t used;
	int got;

	assert_non_null(datagram);
	wire_put16(datagram, (uint16_t)id);
	wire_put16(datagram + 2, (uint16_t)number);
	wire_put16(datagram + 4, (uint16_t)total);
	wire_put16(datagram + 6, 0);
	memcpy(datagram + 8, text, strlen(text));
	got = protocol_find("udp+memcached")->parse(parser, 0, datagram, 8 + strlen(text), &used,
						    out);
	if (got >= 0)
		assert_int_equal(used, 8 + strlen(text));
	free(datagram);
	return got;
}

static void test_udp(void **state)
{
	struct reply_parser parser = { 0 };
	struct reply out;

	(void)state;
	assert_int_equal(udp(&parser, 7, 0, 1, "END\r\n", &out), 1);
	assert_true(out.id == 7 && out.status == REPLY_MISS);
	assert_int_equal(udp(&parser, 8, 0, 1, "STORED\r\n", &out), 1);
	assert_true(out.id == 8 && out.status == REPLY_OK);
	assert_int_equal(udp(&parser, 8, 0, 1, "NOT_FOUND\r\n", &out), 1);
	assert_true(out.id == 8 && out.status == REPLY_MISS);
	assert_int_equal(udp(&parser, 8, 0, 1, "NOT_STORED\r\n", &out), 1);
	assert_int_equal(out.status, REPLY_ERROR);
	assert_int_equal(udp(&parser, 9, 0, 1, "VALUE k 0 1\r\nx\r\nEND\r\n", &out), 1);
	assert_true(out.id == 9 && out.status == REPLY_OK);
	assert_int_equal(udp(&parser, 9, 0, 1, "SERVER_ERROR out of memory\r\n", &out), 1);
	assert_int_equal(out.status, REPLY_ERROR);
	assert_int_equal(udp(&parser, 9, 0, 1, "EN", &out), -EPROTO);
	assert_int_equal(udp(&parser, 9, 0, 1, "END\r\nEND\r\n", &out), -EPROTO);
	assert_int_equal(udp(&parser, 9, 1, 1, "END\r\n", &out), -EPROTO);
	assert_int_equal(udp(&parser, 9, 0, 0, "END\r\n", &out), -EPROTO);
	assert_int_equal(udp(&parser, 9, 0, 2, "END\r\n", &out), -EPROTO);
	assert_int_equal(udp(&parser, 9, 0, 1, "", &out), -EPROTO);
}

static void test_udp_parts(void **state)
{
	struct reply_parser parser = { 0 };
	struct reply out;

	(void)state;
	/* Two replies, mixed and out of order. */
	assert_int_equal(udp(&parser, 1, 2, 3, "z\r\nEND\r\n", &out), 0);
	assert_int_equal(udp(&parser, 2, 0, 2, "VALUE", &out), 0);
	assert_int_equal(udp(&parser, 1, 0, 3, "VALUE k 0 9\r\nx", &out), 0);
	assert_int_equal(udp(&parser, 2, 1, 2, "x", &out), 1);
	assert_true(out.id == 2 && out.status == REPLY_OK);
	assert_int_equal(udp(&parser, 1, 1, 3, "END\r\n", &out), 1);
	assert_int_equal(out.id, 1);
	/* One came twice, another not at all: no reply. */
	assert_int_equal(udp(&parser, 3, 0, 3, "VALUE", &out), 0);
	assert_int_equal(udp(&parser, 3, 1, 3, "x", &out), 0);
	assert_int_equal(udp(&parser, 3, 1, 3, "x", &out), 0);
	/* More losses than can be kept track of; then an undisturbed one. */
	for (unsigned id = 100; id < 1000; id++)
		assert_int_equal(udp(&parser, id, 0, 2, "VALUE", &out), 0);
	assert_int_equal(udp(&parser, 5, 1, 2, "x", &out), 0);
	assert_int_equal(udp(&parser, 5, 0, 2, "VALUE", &out), 1);
	assert_int_equal(out.id, 5);
}

/* ---- Both sides of R2P2 and the synthetic protocol ---- */

static int answer(enum r2p2_type type, unsigned rid, unsigned id, size_t cut, struct reply *out)
{
	struct synthetic_reply reply = { .id = id, .size = 48, .in_ns = 5, .out_ns = 9 };
	struct reply_parser parser = { 0 };
	uint8_t packet[8 + 48] = { 0 }, *copy = malloc(sizeof(packet));
	size_t used;
	int got;

	assert_non_null(copy);
	r2p2_put(packet, type, (uint16_t)rid);
	synthetic_put_reply(packet + 8, &reply);
	memcpy(copy, packet, sizeof(packet));
	got = protocol_find("r2p2")->parse(&parser, 0, copy, sizeof(packet) - cut, &used, out);
	free(copy);
	return got;
}

static void test_r2p2(void **state)
{
	struct reply out;

	(void)state;
	assert_int_equal(answer(R2P2_RESPONSE, 0x5678, 0x12345678, 0, &out), 1);
	assert_true(out.id == 0x5678 && out.server_in_ns == 5 && out.server_out_ns == 9);
	assert_int_equal(answer(R2P2_RESPONSE, 0x5678, 0x12345679, 0, &out), -EPROTO);
	assert_int_equal(answer(R2P2_DROP, 0x5678, 0, 48, &out), 1);
	assert_true(out.id == 0x5678 && out.status == REPLY_ERROR);
	assert_int_equal(answer(R2P2_FEEDBACK, 1, 1, 0, &out), 0);
	assert_int_equal(answer(R2P2_REQUEST, 1, 1, 0, &out), -EPROTO);
	for (size_t cut = 1; cut < 56; cut++)
		assert_int_equal(answer(R2P2_RESPONSE, 1, 1, cut, &out), -EPROTO);
}

static void test_synthetic_request(void **state)
{
	struct synthetic_request r = { .id = 3, .size = 24, .reply_size = 40, .service_ns = 7 };
	struct synthetic_request back;
	uint8_t bytes[24];

	(void)state;
	synthetic_put_request(bytes, &r);
	assert_int_equal(synthetic_get_request(bytes, &back), 0);
	assert_true(back.id == 3 && back.size == 24 && back.reply_size == 40 &&
		    back.service_ns == 7 && back.flags == 0);
	for (int i = 0; i < 4; i++) {
		bytes[i] ^= 2;
		assert_int_equal(synthetic_get_request(bytes, &back), -EPROTO);
		bytes[i] ^= 2;
	}
	for (int i = 8; i < 17; i += 4) {
		bytes[i] = 0xff;
		assert_int_equal(synthetic_get_request(bytes, &back), -EPROTO);
		bytes[i] = 0;
	}
}

/* A binary reply says whose it is. */
static void test_binary_id(void **state)
{
	static const char bytes[24] = "\x81\0\0\0\0\0\0\1\0\0\0\0\x12\x34\x56\x78";
	struct reply_parser parser = { 0 };
	struct reply out;
	size_t used;

	(void)state;
	assert_int_equal(protocol_find("memcached-binary")->parse(&parser, 0, bytes, 24, &used,
								  &out), 1);
	assert_true(out.id == 0x12345678 && out.status == REPLY_MISS && used == 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_cas), cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_udp_parts),
		cmocka_unit_test(test_r2p2),
		cmocka_unit_test(test_synthetic_request),
		cmocka_unit_test(test_binary_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
