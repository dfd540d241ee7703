/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "load/protocol.h"

static void test_accepted_targets(void **state)
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
		{ "http://[fe80::1%25eth0]:81/a", "http", "fe80::1%eth0", "81", "/a", false },
		{ "http://[fe80::1%25]", "http", "fe80::1%25", "80", "/", false },
		{ "http+unix://%2Frun%2fx.sock/a?b", "http", "/run/x.sock", "", "/a?b", true },
		{ "http+unix://%2Frun%2Fx.sock:/a", "http", "/run/x.sock", "", "/a", true },
		{ "http+unix://%2Frun%2Fx.sock", "http", "/run/x.sock", "", "/", true },
		{ "redis+unix://%2Frun%2Fr%40s", "redis", "/run/r@s", "", "/", true },
		{ "http://h:80/a:b@c", "http", "h", "80", "/a:b@c", false },
		{ "memcached+unix:///run/m.sock", "memcached", "/run/m.sock", "", "/", true },
		{ "memcached+unix://m.sock", "memcached", "m.sock", "", "/", true },
		{ "echo://h:1", "echo", "h", "1", "/", false },
		{ "synthetic://h:65535", "synthetic", "h", "65535", "/", false },
		{ "null:", "null", "", "", "/", false },
		{ "redis://h", "redis", "h", "6379", "/", false },
		{ "rediss://h", "rediss", "h", "6379", "/", false },
		{ "redis+unix:///tmp/a:/b", "redis", "/tmp/a:/b", "", "/", true },
		{ "http://h", "http", "h", "80", "/", false },
		{ "https://h?q=1", "https", "h", "443", "/?q=1", false },
		{ "http://h:8080?x=1", "http", "h", "8080", "/?x=1", false },
		{ "HTTP://h/A", "http", "h", "80", "/A", false },
		{ "Redis+UNIX:///run/r", "redis", "/run/r", "", "/", true },
		{ "http://h/münchen?ü=ß", "http", "h", "80", "/m%C3%BCnchen?%C3%BC=%C3%9F",
		  false },
		{ "http://h/%C3%BC", "http", "h", "80", "/%C3%BC", false },
		{ "http://u:p@h/a@b", "http", "h", "80", "/a@b", false },
		{ "http://h/a:b@c", "http", "h", "80", "/a:b@c", false },
		{ "http://u:p@w@[::1]:81", "http", "::1", "81", "/", false },
		{ "redis://h/0", "redis", "h", "6379", "/", false },
		{ "redis://:pw@h/2", "redis", "h", "6379", "/", false },
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

static void test_users(void **state)
{
	static const struct {
		const char *url, *user, *password;
		bool has_user;
		uint32_t database;
	} rows[] = {
		{ "http://h", "", "", false, 0 },
		{ "http://u:p@h", "u", "p", true, 0 },
		{ "https://u@h", "u", "", true, 0 },
		{ "http://u:p:q%40%25@h", "u", "p:q@%", true, 0 },
		{ "http://h/?a=u:p@h", "", "", false, 0 },
		{ "redis://:pw@h/2", "", "pw", true, 2 },
		{ "rediss://app:pw@h:7/15", "app", "pw", true, 15 },
		{ "redis://h/0", "", "", false, 0 },
		{ "redis://h/", "", "", false, 0 },
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (target_parse(rows[i].url, &t, &why))
			fail_msg("%s: %s", rows[i].url, strbuf_str(&why));
		assert_string_equal(t.user, rows[i].user);
		assert_string_equal(t.password, rows[i].password);
		assert_int_equal(t.has_user, rows[i].has_user);
		assert_int_equal(t.database, rows[i].database);
	}
	strbuf_release(&why);
}

static void test_greeting(void **state)
{
	static const struct {
		const char *url, *text;
		unsigned int replies;
	} rows[] = {
		{ "redis://h", "", 0 },
		{ "redis://h/0", "", 0 },
		{ "redis://:pw@h", "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n", 1 },
		{ "memcached://h", "", 0 },
		{ "memcached://app:p%25w@h", "set login 0 -1 7\r\napp p%w\r\n", 1 },
		{ "memcached-meta://app:pw@h", "set login 0 -1 6\r\napp pw\r\n", 1 },
		{ "redis://h?protocol=3", "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", 1 },
		{ "redis+unix:///r?protocol=3", "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", 1 },
		{ "rediss://:pw@h/2?protocol=3",
		  "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n"
		  "$2\r\npw\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n", 2 },
		{ "redis://app:p%20w@h/12", "*3\r\n$4\r\nAUTH\r\n$3\r\napp\r\n$3\r\np w\r\n"
					   "*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n", 2 },
	};
	struct strbuf why = STRBUF_INIT(4096);
	char greeting[PROTOCOL_GREETING_MAX];
	unsigned int replies;
	struct target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t size;

		assert_int_equal(target_parse(rows[i].url, &t, &why), 0);
		size = t.protocol->greet(&t, greeting, &replies);
		assert_int_equal(size, strlen(rows[i].text));
		assert_memory_equal(greeting, rows[i].text, size);
		assert_int_equal(replies, rows[i].replies);
	}
	strbuf_release(&why);
}

/* SASL PLAIN, with its zero bytes. */
static void test_binary_greeting(void **state)
{
	static const char expected[] = "\x80\x21\0\5\0\0\0\0\0\0\0\xc\0\0\0\0\0\0\0\0\0\0\0\0"
				       "PLAIN\0app\0pw";
	struct strbuf why = STRBUF_INIT(4096);
	char greeting[PROTOCOL_GREETING_MAX];
	unsigned int replies;
	struct target t;

	(void)state;
	assert_int_equal(target_parse("memcached-binary://app:pw@h", &t, &why), 0);
	assert_int_equal(t.protocol->greet(&t, greeting, &replies), sizeof(expected) - 1);
	assert_memory_equal(greeting, expected, sizeof(expected) - 1);
	assert_int_equal(replies, 1);
	strbuf_release(&why);
}

/* No password goes into results, recordings and messages. */
static void test_passwords_are_hidden(void **state)
{
	static const char *const rows[][2] = {
		{ "http://h/a:b@c", "http://h/a:b@c" },
		{ "http://u:secret@h/a", "http://u:***@h/a" },
		{ "redis://:secret@h/2", "redis://:***@h/2" },
		{ "http://u:se@cret@h", "http://u:***@h" },
		{ "u:secret@h", "u:***@h" },
		{ "null:", "null:" },
		{ "redis://:se/cret@h:1/2", "redis://:***@h:1/2" },
		{ "redis://u:12/34@h", "redis://u:***@h" },
		{ "http://u:se?cret@h/a", "http://u:***@h/a" },
		{ "https://u:se#cret@h", "https://u:***@h" },
		{ "http://h:80/a:b@c", "http://h:80/a:b@c" },
		{ "http://[::1]/a:b@c", "http://[::1]/a:b@c" },
		{ "redis+unix:///tmp/a:b@c", "redis+unix:///tmp/a:b@c" },
	};
	struct strbuf text = STRBUF_INIT(4096);
	struct target t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		strbuf_reset(&text);
		target_put_shown(rows[i][0], &text);
		assert_string_equal(strbuf_str(&text), rows[i][1]);
	}
	strbuf_reset(&text);
	assert_int_equal(target_parse("echo://u:secret@h", &t, &text), -22);
	assert_null(strstr(strbuf_str(&text), "secret"));
	strbuf_release(&text);
}

static void check_refused(const char *const rows[][2], size_t n)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct target t;

	for (size_t i = 0; i < n; i++) {
		strbuf_reset(&why);
		if (target_parse(rows[i][0], &t, &why) != -22)
			fail_msg("'%s' was taken", rows[i][0]);
		if (!strstr(strbuf_str(&why), rows[i][1]))
			fail_msg("'%s': %s", rows[i][0], strbuf_str(&why));
	}
	strbuf_release(&why);
}

/* Forms that other programs accept, or that look right. */
static void test_similar_forms_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "redis://:pa/ss@h", "'redis://:***@h' is not a target: in a user or password" },
		{ "http://u:pa#ss@h", "'http://u:***@h' is not a target: in a user or password" },
		{ "http://u:pa?ss@h", "as %2F, %3F and %23" },
		{ "http://[fe80::1]:80", "needs its interface, as in "
					 "http://[fe80::1%eth0]" },
		{ "http://[fe80::1%]:80", "needs its interface" },
		{ "unix:/run/x", "write http+unix:///run/x, or one of these before it" },
		{ "http://unix:/run/x:/a", "a Unix socket is written http+unix://PATH" },
		{ "http+unix://%2Frun%2", "without the two hex digits" },
		{ "memcached+unix://%2Frun%2Fm/x", "memcached has no path" },
	};

	(void)state;
	check_refused(rows, ARRAY_LEN(rows));
}

static void test_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "", "write one of memcached://" },
		{ "h:80", "write http://h:80, or one of these before it: memcached://" },
		{ "h:6379/", "write redis://h:6379/" },
		{ "memcache://h", "did you mean memcached://?" },
		{ "htps://h", "did you mean https://?" },
		{ "nul:", "did you mean null:?" },
		{ "memcached:h", "'//' is missing behind 'memcached:'" },
		{ "memcached://", "missing; the form is memcached://[USER:PASSWORD@]HOST[:PORT]" },
		{ "memcached://:11211", "the host is missing" },
		{ "memcached://h:0", "a port from 1 to 65535" },
		{ "memcached://h:65536", "a port from 1 to 65535" },
		{ "memcached://h:", "'' is not a port from 1 to 65535" },
		{ "memcached://h:http", "a port from 1 to 65535" },
		{ "memcached://h:99999999999999999999", "a port from 1 to 65535" },
		{ "memcached://h/path", "memcached has no path: remove '/path'" },
		{ "memcached://::1", "an IPv6 address must be in brackets" },
		{ "memcached://[::1", "only an IPv6 address in brackets may begin" },
		{ "memcached://[localhost]", "an IPv6 address in brackets" },
		{ "memcached://[]", "an IPv6 address in brackets" },
		{ "memcached://user@h", "needs a user and a password; the form is memcached:" },
		{ "memcached-binary://:pw@h", "memcached needs a user and a password" },
		{ "memcached-meta://a%20b:pw@h", "ASCII protocol has no spaces" },
		{ "memcached://a:p%20w@h", "ASCII protocol has no spaces" },
		{ "udp+memcached://a:b@h", "a URL of udp+memcached has no user: remove" },
		{ "memcached://h h", "the host has a ' '" },
		{ "http://h/a b", "a space: write %20" },
		{ "http://h/a#b", "a fragment is never sent to a server: remove '#b'" },
		{ "http://h/\r\nX: y", "a control character" },
		{ "http://münchen.de", "the ASCII form (xn--...)" },
		{ "http://[::1]x", "may follow ']'" },
		{ "http://u%4:p@h", "itself as %25" },
		{ "http://u%3A:p@h", "an HTTP user name cannot contain ':'" },
		{ "redis://user@h", "redis://:PASSWORD@HOST" },
		{ "redis://h/x", "'x' is not a database number" },
		{ "redis://h/99999999999", "above 2147483647" },
		{ "redis://h?db=2", "the only query is ?protocol=3, ?cluster=1 or "
				    "?protocol=3&cluster=1: remove '?db=2'" },
		{ "redis://h?cluster=1&db=2", "remove '&db=2'" },
		{ "redis://h?cluster=1&cluster=1", "remove '&cluster=1'" },
		{ "redis://h?cluster=1?protocol=3", "remove '?cluster=1?protocol=3'" },
		{ "redis://h?cluster=2", "remove '?cluster=2'" },
		{ "redis://h?", "remove '?'" },
		{ "redis://h/3?cluster=1", "a cluster has only the database 0: remove /3" },
		{ "redis+unix:///r?cluster=1", "have no Unix sockets: remove cluster=1" },
		{ "redis://h/2?protocol=2", "remove '?protocol=2'" },
		{ "redis://h/2?protocol=3#x", "remove '#x'" },
		{ "redis+unix:///r?x", "remove '?x'; the form is redis+unix://PATH[?protocol=3]" },
		{ "memcached://h?x=1", "no query and no fragment" },
		{ "127.0.0.1:8080", "has no scheme" },
		{ "127.0.0.1:8080", "write http://127.0.0.1:8080" },
		{ "localhost", "write http://localhost" },
		{ "http+unix://", "the form is http+unix://PATH[:/PATH]" },
		{ "memcached+unix://" /* 108 letters */
		  "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "at most 107 bytes" },
		{ "r2p2+unix:///run/x", "has no Unix sockets" },
		{ "r2p2://h/x", "the form is r2p2://HOST[:PORT]" },
		{ "null://h", "null has no server; the form is null:" },
		{ "null+unix:x", "the form is null:" },
		{ "+unix://x", "write one of memcached://" },
	};

	(void)state;
	check_refused(rows, ARRAY_LEN(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted_targets),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_greeting),
		cmocka_unit_test(test_binary_greeting),
		cmocka_unit_test(test_passwords_are_hidden),
		cmocka_unit_test(test_similar_forms_are_refused),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
