/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "load/protocol.h"

static void test_taken(void **state)
{
	static const struct {
		const char *url, *protocol, *host, *port, *path;
		bool unix_socket;
	} rows[] = {
		{ "memcached://10.0.0.2", "memcached", "10.0.0.2", "11211", "/", false },
		{ "memcached://db-1.example.org:11311/", "memcached", "db-1.example.org", "11311",
		  "/", false },
		{ "memcached://[::1]:007", "memcached", "::1", "7", "/", false },
		{ "memcached://[fe80::1%eth0]", "memcached", "fe80::1%eth0", "11211", "/", false },
		{ "memcached+unix:///run/m.sock", "memcached", "/run/m.sock", "", "/", true },
		{ "memcached+unix://m.sock", "memcached", "m.sock", "", "/", true },
		{ "echo://h:1", "echo", "h", "1", "/", false },
		{ "synthetic://h:65535", "synthetic", "h", "65535", "/", false },
		{ "null:", "null", "", "", "/", false },
		{ "redis://h", "redis", "h", "6379", "/", false },
		{ "rediss://h", "rediss", "h", "6379", "/", false },
		{ "redis+unix:///tmp/a:/b", "redis", "/tmp/a:/b", "", "/", true },
		{ "http://h", "http", "h", "80", "/", false },
		{ "https://h?q=1", "https", "h", "443", "", false },
		{ "https://h/a?b=c:d", "https", "h", "443", "/a?b=c:d", false },
		{ "http+unix:///run/x.sock:/path", "http", "/run/x.sock", "", "/path", true },
		{ "http+unix:///run/x.sock", "http", "/run/x.sock", "", "/", true },
		{ "udp+memcached://h", "udp+memcached", "h", "11211", "/", false },
		{ "memcached-binary://h", "memcached-binary", "h", "11211", "/", false },
		{ "r2p2://h:9", "r2p2", "h", "9", "/", false },
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!*rows[i].path) {
			assert_int_equal(target_parse(rows[i].url, &t, &why), -22);
			strbuf_reset(&why);
			continue;
		}
		if (target_parse(rows[i].url, &t, &why))
			fail_msg("%s: %s", rows[i].url, strbuf_str(&why));
		assert_string_equal(t.protocol->name, rows[i].protocol);
		assert_string_equal(t.host, rows[i].host);
		assert_string_equal(t.port, rows[i].port);
		assert_string_equal(t.path, rows[i].path);
		assert_int_equal(t.unix_socket, rows[i].unix_socket);
		assert_int_equal(why.len, 0);
	}
	strbuf_release(&why);
}

static void test_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "", "takes memcached://" },
		{ "h:80", "takes memcached://" },
		{ "memcache://h", "did you mean memcached://?" },
		{ "htps://h", "did you mean https://?" },
		{ "nul:", "did you mean null:?" },
		{ "memcached:h", "takes memcached://HOST[:PORT]" },
		{ "memcached://", "takes memcached://HOST[:PORT]" },
		{ "memcached://:11211", "takes memcached://HOST[:PORT]" },
		{ "memcached://h:0", "a port from 1 to 65535" },
		{ "memcached://h:65536", "a port from 1 to 65535" },
		{ "memcached://h:", "a port from 1 to 65535" },
		{ "memcached://h:http", "a port from 1 to 65535" },
		{ "memcached://h:99999999999999999999", "a port from 1 to 65535" },
		{ "memcached://h/path", "takes memcached://HOST[:PORT]" },
		{ "memcached://::1", "an IPv6 address in brackets" },
		{ "memcached://[::1", "an IPv6 address in brackets" },
		{ "memcached://[localhost]", "an IPv6 address in brackets" },
		{ "memcached://[]", "an IPv6 address in brackets" },
		{ "memcached://user@h", "takes memcached://HOST[:PORT]" },
		{ "memcached://h h", "takes memcached://HOST[:PORT]" },
		{ "http://h/a b", "takes http://HOST[:PORT][/PATH]" },
		{ "http://h/a#b", "takes http://HOST[:PORT][/PATH]" },
		{ "http://h/\r\nX: y", "takes http://HOST[:PORT][/PATH]" },
		{ "http+unix://", "takes http+unix://PATH[:/PATH]" },
		{ "memcached+unix://" /* 108 letters */
		  "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "at most 107 letters" },
		{ "r2p2+unix:///run/x", "has no Unix sockets" },
		{ "r2p2://h/x", "takes r2p2://HOST[:PORT]" },
		{ "null://h", "takes null:" },
		{ "null+unix:x", "takes null:" },
		{ "+unix://x", "takes memcached://" },
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		strbuf_reset(&why);
		if (target_parse(rows[i][0], &t, &why) != -22)
			fail_msg("'%s' was taken", rows[i][0]);
		if (!strstr(strbuf_str(&why), rows[i][1]))
			fail_msg("'%s': %s", rows[i][0], strbuf_str(&why));
	}
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
