/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redis Cluster: the slots of keys, against a redis-server's; the map from replies to CLUSTER
 * SLOTS, cut everywhere, and from bad ones; MOVED and ASK; the key that chooses the node.
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
#include "load/cluster.h"
#include "load/cluster_counts.h"
#include "load/protocol.h"
#include "load/request.h"
#include "load/resp_command.h"
#include "load/resp_key.h"
#include "load/route.h"

static struct cluster map;

/* ---- slots ---- */

static void test_slots(void **state)
{
	static const struct {
		const char *key;
		unsigned int slot;
	} keys[] = {
		{ "123456789", 12739 }, /* CRC-16/XMODEM: 0x31c3 */
		{ "a", 15495 }, { "b", 3300 }, { "c", 7365 }, { "foo", 12182 },
		{ "user1000", 3443 }, { "{user1000}.following", 3443 },
		{ "foo{}{bar}", 8363 }, { "foo{{bar}}zap", 4015 }, { "foo{bar}{zap}", 5061 },
		{ "a{b", 13340 }, { "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_int_equal(cluster_slot(keys[i].key, strlen(keys[i].key)), keys[i].slot);
	assert_int_equal(cluster_slot("x{a}", 4), 15495);
	assert_int_equal(cluster_slot("{a}", 3), cluster_slot("a", 1));
	assert_int_equal(cluster_slot(NULL, 0), 0);
}

/* ---- CLUSTER SLOTS ---- */

#define NODE(host, port) "*4\r\n" host ":" port "\r\n$2\r\nid\r\n*0\r\n"
#define RANGE(from, to) ":" from "\r\n:" to "\r\n"

static int read_slots(const char *reply, size_t size, unsigned int skip, struct strbuf *why)
{
	/* Memory of just this size: a sanitizer sees reads beyond it. */
	char *copy = malloc(size ?: 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, reply, size);
	ret = cluster_read_slots(&map, skip, "home", copy, size, why);
	free(copy);
	return ret;
}

static void test_map(void **state)
{
	static const char reply[] =
		"*4\r\n*3\r\n" RANGE("0", "99") NODE("$8\r\n10.0.0.1\r\n", "7000")
		"*4\r\n" RANGE("100", "16000") NODE("$8\r\n10.0.0.2\r\n", "7000")
		NODE("$8\r\n10.0.0.9\r\n", "7000")
		"*3\r\n" RANGE("16001", "16001") NODE("$8\r\n10.0.0.1\r\n", "7000")
		"*3\r\n" RANGE("16003", "16383") NODE("$-1\r\n", "7001");
	struct strbuf why = STRBUF_INIT(4096);
	unsigned int from, to;

	(void)state;
	for (size_t n = 0; n < sizeof(reply) - 1; n++)
		assert_int_equal(read_slots(reply, n, 0, &why), 0);
	assert_int_equal(read_slots(reply, sizeof(reply) - 1, 0, &why), 1);
	assert_int_equal(map.n_nodes, 3);
	assert_string_equal(map.nodes[1].host, "10.0.0.2");
	assert_string_equal(map.nodes[2].host, "home");
	assert_int_equal(map.nodes[2].port, 7001);
	assert_int_equal(cluster_node_of(&map, 0), 0);
	assert_int_equal(cluster_node_of(&map, 99), 0);
	assert_int_equal(cluster_node_of(&map, 100), 1);
	assert_int_equal(cluster_node_of(&map, 16001), 0);
	assert_int_equal(cluster_node_of(&map, 16383), 2);
	assert_true(cluster_find_unserved(&map, &from, &to));
	assert_int_equal(from, 16002);
	assert_int_equal(to, 16002);
	cluster_move_slot(&map, 16002, 2);
	assert_false(cluster_find_unserved(&map, &from, &to));
	assert_int_equal(why.len, 0);
	strbuf_release(&why);
}

/* RESP3: a map as metadata, null, attributes and pushes; replies to a greeting before it. */
static void test_map_resp3(void **state)
{
	static const char reply[] =
		"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n>2\r\n+a\r\n*1\r\n:1\r\n|1\r\n+k\r\n+v\r\n"
		"*1\r\n*3\r\n" RANGE("0", "16383") "*4\r\n_\r\n:6379\r\n$2\r\nid\r\n"
		"%1\r\n$8\r\nhostname\r\n$1\r\nh\r\n";
	struct strbuf why = STRBUF_INIT(4096);
	unsigned int from, to;

	(void)state;
	assert_int_equal(read_slots(reply, sizeof(reply) - 1, 1, &why), 1);
	assert_int_equal(map.n_nodes, 1);
	assert_string_equal(map.nodes[0].host, "home");
	assert_false(cluster_find_unserved(&map, &from, &to));
	strbuf_release(&why);
}

static void test_bad_maps(void **state)
{
	static const struct {
		const char *reply;
		int err;
		const char *why;
	} bad[] = {
		{ "+OK\r\n", -EPROTO, "violates the protocol" },
		{ "HTTP/1.1 400\r\n", -EPROTO, "violates" },
		{ "*x\r\n", -EPROTO, "violates" },
		{ "*-1\r\n", -EPROTO, "violates" },
		{ "*16385\r\n", -EPROTO, "violates" },
		{ "*99999999999\r\n", -EPROTO, "violates" },
		{ "*1\n", -EPROTO, "violates" },
		{ "*1\r\n*2\r\n", -EPROTO, "violates" },
		{ "*1\r\n*3\r\n:0\r\n:16384\r\n", -EPROTO, "violates" },
		{ "*1\r\n*3\r\n:-1\r\n", -EPROTO, "violates" },
		{ "*1\r\n*3\r\n:0\r\n+1\r\n", -EPROTO, "violates" },
		{ "*1\r\n*3\r\n" RANGE("0", "1") NODE("$3\r\na b\r\n", "1"), -EPROTO, "violates" },
		{ "*1\r\n*3\r\n" RANGE("0", "1") NODE("$2\r\nabc\r\n", "1"), -EPROTO, "violates" },
		{ "*1\r\n*3\r\n" RANGE("0", "1") NODE("$1\r\nh\r\n", "65536"), -EPROTO,
		  "violates" },
		{ "*1\r\n*3\r\n" RANGE("0", "1") NODE("*0\r\n", "1"), -EPROTO, "violates" },
		{ "*1\r\n*3\r\n" RANGE("0", "1") NODE("$1\r\nh\r\n", "0"), -ENOTCONN,
		  "a node with the port 0" },
		{ "*1\r\n*3\r\n" RANGE("0", "1") NODE("$1\r\n?\r\n", "1"), -ENOTCONN,
		  "whose host name is unknown ('?')" },
		{ "*1\r\n*3\r\n" RANGE("0", "1") "*3\r\n$1\r\nh\r\n:1\r\n*99999999\r\n", -EPROTO,
		  "violates" },
		{ "-NOAUTH Authentication required.\r\n", -EREMOTEIO,
		  "NOAUTH Authentication required." },
		{ "!5\r\nERR x\r\n", -EREMOTEIO, "ERR x" },
		{ "-\r\n", -EREMOTEIO, "an error without a text" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct strbuf why = STRBUF_INIT(4096);

		assert_int_equal(read_slots(bad[i].reply, strlen(bad[i].reply), 0, &why),
				 bad[i].err);
		assert_non_null(strstr(strbuf_str(&why), bad[i].why));
		strbuf_release(&why);
	}
}

/* ---- MOVED and ASK ---- */

static bool redirect(const char *words, struct cluster_redirect *out)
{
	struct error_text text = { 0 };

	error_text_add(&text, words, strlen(words));
	return cluster_read_redirect(&text, out);
}

static void test_redirects(void **state)
{
	static const char *const bad[] = {
		"", "MOVED", "MOVED ", "ASK 1", "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h",
		"MOVED 1 h:", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 a b:1", "moved 1 h:1",
		"MOVED x h:1", "ASKING 1 h:1", "MOVED 000001 h:1", "MOVED 1  h:1",
	};
	struct cluster_redirect to;

	(void)state;
	assert_true(redirect("MOVED 3999 127.0.0.1:6381\r\n", &to));
	assert_false(to.ask);
	assert_int_equal(to.slot, 3999);
	assert_string_equal(to.host, "127.0.0.1");
	assert_int_equal(to.port, 6381);
	assert_true(redirect("ASK 16383 2001:db8::1:6379", &to));
	assert_true(to.ask);
	assert_string_equal(to.host, "2001:db8::1");
	map.n_nodes = 2;
	map.nodes[0] = (struct cluster_node){ "a.example", 7000 };
	map.nodes[1] = (struct cluster_node){ "a.example", 7001 };
	assert_true(redirect("MOVED 1 A.example:7001", &to));
	assert_int_equal(cluster_redirect_node(&map, 0, &to), 1);
	assert_true(redirect("MOVED 1 :7000", &to)); /* the same host */
	assert_int_equal(cluster_redirect_node(&map, 1, &to), 0);
	assert_true(redirect("MOVED 1 b.example:7001", &to));
	assert_int_equal(cluster_redirect_node(&map, 0, &to), CLUSTER_NO_NODE);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(redirect(bad[i], &to));
}

/* ---- keys of requests ---- */

static size_t first_key(const char *text)
{
	struct strbuf words[8];
	char *copy = strdup(text), *rest = copy, *word;
	size_t n = 0, at;

	assert_non_null(copy);
	while ((word = strsep(&rest, " "))) {
		strbuf_init(&words[n], 64);
		strbuf_puts(&words[n++], word);
	}
	at = resp_key_find(words, n);
	while (n)
		strbuf_release(&words[--n]);
	free(copy);
	return at;
}

static void test_first_keys(void **state)
{
	(void)state;
	assert_int_equal(first_key("GET k"), 1);
	assert_int_equal(first_key("JSON.SET k $ 1"), 1);
	assert_int_equal(first_key("ping"), 0);
	assert_int_equal(first_key("PING x"), 0);
	assert_int_equal(first_key("GET"), 0);
	assert_int_equal(first_key("Object ENCODING k"), 2);
	assert_int_equal(first_key("MEMORY DOCTOR"), 0);
	assert_int_equal(first_key("ZUNION 2 a b"), 2);
	assert_int_equal(first_key("BLMPOP 0 1 k LEFT"), 3);
	assert_int_equal(first_key("EVAL x 1 k"), 3);
	assert_int_equal(first_key("EVAL x 0 arg"), 0);
	assert_int_equal(first_key("FCALL f"), 0);
	assert_int_equal(first_key("XREAD COUNT 2 streams a b 0 0"), 4);
	assert_int_equal(first_key("XREAD COUNT 2"), 0);
}

/* The key, as a word of the encoded request, for the same random numbers. */
static void check_key(const char *workload, const char *command, const char *expected)
{
	struct opt_list list = { .items = { command }, .len = command ? 1 : 0 };
	struct strbuf why = STRBUF_INIT(4096);
	struct encoded_request out;
	struct workload w;
	struct target target;
	char key[4096], bytes[8192], word[4200];
	struct resp_commands *commands;

	assert_int_equal(target_parse("redis://h", &target, &why), 0);
	assert_int_equal(workload_parse(&w, workload, &target, &why), 0);
	assert_int_equal(resp_commands_new(&commands, &list, &why), 0);
	w.commands = commands;
	for (uint64_t number = 0; number < 50; number++) {
		struct rng one, two;
		size_t size;
		int n;

		rng_init(&one, number);
		rng_init(&two, number);
		size = protocol_key(&w, &one, number, key);
		out = (struct encoded_request){ .number = number };
		assert_int_equal(protocol_encode(target.protocol, &w, &two, 1, bytes, sizeof(bytes),
						 &out), 0);
		n = snprintf(word, sizeof(word), "$%zu\r\n%.*s\r\n", size, (int)size, key);
		assert_true(size > 0);
		assert_non_null(memmem(bytes, out.size, word, (size_t)n));
		if (expected)
			assert_true(size >= strlen(expected) &&
				    !memcmp(key, expected, strlen(expected)));
	}
	resp_commands_free(commands);
	workload_release(&w);
	strbuf_release(&why);
}

static void test_keys(void **state)
{
	(void)state;
	check_key("keys=1000,read=0.5,delete=0.2,value=uniform:1:100", NULL, NULL);
	check_key("keys=1000", "GET {key}", NULL);
	check_key("keys=1000", "SET x{random:1000000}:{key}:{random:1000000} {random:1000000} EX 1",
		  "x");
	check_key("keys=1000", "EVAL {random:1000000} 1 {random:1000000}", NULL);
	check_key(NULL, "GET \\{a}b", "{a}b");
	check_key("value=10", "SET {value} {value}", NULL);
}

static void test_no_key(void **state)
{
	struct opt_list list = { .items = { "PING" }, .len = 1 };
	struct strbuf why = STRBUF_INIT(4096);
	struct workload w;
	struct resp_commands *commands;
	struct rng rng;
	char key[512];

	(void)state;
	rng_init(&rng, 1);
	assert_int_equal(workload_parse(&w, NULL, NULL, &why), 0);
	assert_int_equal(resp_commands_new(&commands, &list, &why), 0);
	w.commands = commands;
	assert_int_equal(protocol_key(&w, &rng, 1, key), 0);
	resp_commands_free(commands);
	workload_release(&w);
	strbuf_release(&why);
}

/* ---- requests that overtake each other ---- */

static void test_oldest(void **state)
{
	static struct load_thread t;
	static struct route route;
	struct load_request sent[2] = {
		{ .sample.intended = 900 }, { .sample.intended = 100 },
	};

	(void)state;
	list_init(&t.sent);
	list_init(&t.awaiting_stamps);
	t.route = &route;
	assert_int_equal(request_oldest(&t, 1000), 1000);
	list_append(&t.sent, &sent[0].link);
	list_append(&t.sent, &sent[1].link);
	assert_int_equal(request_oldest(&t, 1000), 100);
	assert_int_equal(request_oldest(&t, 50), 50);
}

/* ---- counts ---- */

static void test_counts(void **state)
{
	static const char *const bad[] = {
		"", "3", "3 1", "0 0 0", "3 1 2 4", "3 1 -2", "x 1 2", "3  1 2", "3 1 2 ",
		"3 1 99999999999999999999",
	};
	struct cluster_counts counts = { 0 };

	(void)state;
	assert_int_equal(cluster_counts_add_fact(&counts, "3 0 0"), 0);
	assert_int_equal(cluster_counts_add_fact(&counts, "3 5 7"), 0);
	assert_int_equal(cluster_counts_add_fact(&counts, "2 1 1"), 0);
	assert_int_equal(counts.nodes, 3);
	assert_int_equal(counts.moved, 6);
	assert_int_equal(counts.asked, 8);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(cluster_counts_add_fact(&counts, bad[i]), -EBADMSG);
	assert_int_equal(counts.moved, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots), cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_resp3), cmocka_unit_test(test_bad_maps),
		cmocka_unit_test(test_redirects), cmocka_unit_test(test_first_keys),
		cmocka_unit_test(test_keys), cmocka_unit_test(test_no_key),
		cmocka_unit_test(test_oldest), cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
