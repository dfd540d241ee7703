/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "base/parse.h"
#include "conns/filter.h"

#define BIT(n) (1ULL << (n))

static const char *const classes[] = { "send-buffer", "timeout" };

/* 10.1.2.3:40000 -> 192.0.2.7:443 of nginx, 12 ms, two retransmissions. */
static struct filter_view view_v4(void)
{
	struct filter_view v = {
		.family = AF_INET, .tcp_state = 1, .local = { 10, 1, 2, 3 },
		.remote = { 192, 0, 2, 7 }, .local_port = 40000, .remote_port = 443,
		.text = { [CONN_TEXT_APP] = "nginx", [CONN_TEXT_COMM] = "my \"worker\"",
			  [CONN_TEXT_CGROUP] = "/system.slice/nginx.service",
			  [CONN_TEXT_UNIT] = "nginx.service", [CONN_TEXT_NETNS] = "blue" },
		.classes = classes, .n_classes = 2,
		.known = BIT(CONN_NUMBER_PID) | BIT(CONN_NUMBER_RTT) | BIT(CONN_NUMBER_RETRANS) |
			 BIT(CONN_NUMBER_SEND_BUFFER) | BIT(CONN_NUMBER_SNDBUF),
	};

	v.number[CONN_NUMBER_PID] = 42;
	v.number[CONN_NUMBER_RTT] = 12 * NS_PER_MS;
	v.number[CONN_NUMBER_RETRANS] = 2;
	v.number[CONN_NUMBER_SEND_BUFFER] = 250000;
	v.number[CONN_NUMBER_SNDBUF] = 65536;
	return v;
}

static struct filter_view view_v6(void)
{
	struct filter_view v = { .family = AF_INET6, .tcp_state = 8, .local_port = 22,
			       .remote_port = 50000, .classes = classes };

	inet_pton(AF_INET6, "2001:db8::1", v.local);
	inet_pton(AF_INET6, "2001:db8:0:8000::9", v.remote);
	return v;
}

static bool match(const char *text, const struct filter_view *view)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct filter *filter;
	bool result;

	if (filter_parse(text, &filter, &why))
		fail_msg("%s: %s", text, strbuf_str(&why));
	assert_int_equal(why.len, 0);
	result = filter_match(filter, view);
	filter_free(filter);
	strbuf_release(&why);
	return result;
}

/* Expressions, and whether they hold for the first view and for the second. */
static const struct {
	const char *text;
	bool v4, v6;
} rows[] = {
	{ "", true, true },
	{ "  ", true, true },
	{ "dport = :443", true, false }, { "dport = 443", true, false },
	{ "dport :443", true, false }, { "dport eq :443", true, false },
	{ "dport == *:443", true, false }, { "dport=:443", true, false },
	{ "dport = :https", true, false }, { "sport = ssh", false, true },
	{ "dport != :443", false, true }, { "dport ne :443", false, true },
	{ "sport >= 1024", true, false }, { "sport geq 1024", true, false },
	{ "sport < 1024", false, true }, { "sport lt :1024", false, true },
	{ "sport <= 22", false, true }, { "sport leq :21", false, false },
	{ "sport > 40000", false, false }, { "sport gt 39999", true, false },
	{ "src 10.0.0.0/8", true, false }, { "src = 10.1.2.3", true, false },
	{ "src 10.1.2.2/31", true, false }, { "src 10.1.2.2", false, false },
	{ "src 10.255.255.255/8", true, false }, { "src != 10.0.0.0/8", false, true },
	{ "dst 192.0.2.7:443", true, false }, { "dst 192.0.2.7:444", false, false },
	{ "dst 192.0.2.0/24:443", true, false }, { "dst :443", true, false },
	{ "dst *:443", true, false }, { "dst *", true, true }, { "dst *:*", true, true },
	{ "src 0.0.0.0/0", true, false }, { "src [::]/0", false, true },
	{ "dst [2001:db8::]/32", false, true }, { "dst [2001:db8::/32]", false, true },
	{ "dst 2001:db8::/33", false, true }, { "dst 2001:db8::/49", false, false },
	{ "dst [2001:db8:0:8000::9]:50000", false, true },
	{ "src [::ffff:10.1.2.3]", true, false },
	{ "src [::ffff:10.0.0.0]/104", true, false },
	{ "state established", true, false }, { "state = close-wait", false, true },
	{ "state connected", true, true }, { "state listening", false, false },
	{ "state bucket", false, false }, { "state big", true, true },
	{ "state != established", false, true },
	{ "app = \"nginx\"", true, false }, { "app nginx", true, false },
	{ "app = 'nginx'", true, false }, { "app != nginx", false, false },
	{ "comm = \"my \\\"worker\\\"\"", true, false },
	{ "comm = 'my \"worker\"'", true, false },
	{ "unit nginx.service", true, false },
	{ "cgroup = /system.slice/nginx.service", true, false },
	{ "netns blue", true, false }, { "pid = 42", true, false },
	{ "pid != 42", false, false },
	{ "class = send-buffer", true, false }, { "class timeout", true, false },
	{ "class nagle", false, false }, { "class != nagle", true, true },
	{ "rtt > 10ms", true, false }, { "rtt > 12ms", false, false },
	{ "rtt >= 12000us", true, false }, { "retrans > 0", true, false },
	{ "send-buffer >= 25%", true, false }, { "send-buffer > 0.25", false, false },
	{ "sndbuf = 64K", true, false },
	/* Unknown is neither. */
	{ "min-rtt > 1ms", false, false }, { "not min-rtt > 1ms", false, false },
	{ "min-rtt > 1ms or dport :443", true, false },
	{ "not ( min-rtt > 1ms and dport :443 )", false, true },
	{ "not ( min-rtt > 1ms or dport :443 )", false, false },
	{ "not app = nginx", false, false },
	/* Joined. */
	{ "src 10.0.0.0/8 dport :443", true, false },
	{ "src 10.0.0.0/8 and dport :444", false, false },
	{ "dport :443 or sport :22", true, true },
	{ "dport :443 || sport :22", true, true }, { "dport :443 | sport :22", true, true },
	{ "sport :22 or dport :443 and dport :1", false, true },
	{ "( sport :22 or dport :443 ) and dport :1", false, false },
	{ "dport :443 && pid 42", true, false }, { "dport :443 & pid 42", true, false },
	{ "not dport :443", false, true }, { "! dport :443", false, true },
	{ "!dport :443", false, true }, { "not not dport :443", true, false },
	{ "not dport :443 or pid 42", true, true },
	{ "not (dport :443 or pid 42)", false, false },
	{ "state established ( dport = :ssh or sport = :ssh )", false, false },
	{ "state big ( dport = :ssh or sport = :ssh )", false, true },
	{ "dport :1 or (dport :2 or dport :443)", true, false },
};

static void expressions_match_views(void **state)
{
	struct filter_view v4 = view_v4(), v6 = view_v6();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (match(rows[i].text, &v4) != rows[i].v4)
			fail_msg("'%s' of the IPv4 connection", rows[i].text);
		if (match(rows[i].text, &v6) != rows[i].v6)
			fail_msg("'%s' of the IPv6 connection", rows[i].text);
	}
}

/* Terms about unknown fields do not hold, and neither do their opposites. */
static void unknown_fields_match_nothing(void **state)
{
	static const char *const terms[] = {
		"src 0.0.0.0/0", "dport < 70", "state all", "class x", "app x", "rtt >= 0ns",
		"pid >= 0", "congestion <= 100%", "sent >= 0",
	};
	struct filter_view view = { 0 };
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
		assert_false(match(terms[i], &view));
		snprintf(text, sizeof(text), "not ( %s )", terms[i]);
		assert_false(match(text, &view));
	}
	assert_true(match("", &view));
}

static void refused(void **state)
{
	static const char *const rows[][2] = {
		{ "dprt = :443", "character 1: 'dprt', expected a field (src, dport, state, app, "
				 "class, rtt, ...), 'not' or '('; did you mean dport?" },
		{ "dport = :443 and", "character 17: the filter ends, expected a field" },
		{ "dport =", "character 8: the filter ends, expected a port" },
		{ "dport = :65536", "character 9: ':65536', expected a port, 0 to 65535" },
		{ "dport = :no-such-service", "expected a port" },
		{ "src 10.0.0.0/33", "character 5: '10.0.0.0/33', expected an address" },
		{ "src 10.0.0", "expected an address" },
		{ "src [::1", "expected an address" },
		{ "src [10.0.0.1]", "expected an address" },
		{ "src [::1]x", "expected an address" },
		{ "dst ::1/129", "expected an address" },
		{ "dst 10.0.0.1:", "expected an address" },
		{ "src > 10.0.0.1", "character 5: '>', expected = or !=" },
		{ "state open", "character 7: 'open', expected a state" },
		{ "app < b", "expected = or !=" }, { "class ge x", "expected = or !=" },
		{ "app = \"x", "character 7: this text has no closing \"" },
		{ "rtt > 10", "character 7: '10', expected a number and a unit" },
		{ "retrans > -1", "expected a whole number" },
		{ "pid = 99999999999999999999", "expected a whole number" },
		{ "congestion > 120%", "expected a fraction" },
		{ "( dport :1", "character 11: the filter ends, expected ')'" },
		{ "dport :1 )", "character 10: ')', expected 'and', 'or' or the end" },
		{ "or dport :1", "character 1: 'or', expected a field" },
		{ "not", "character 4: the filter ends, expected a field" },
		{ "()", "character 2: ')'" },
		{ "\"src\" 10.0.0.1", "character 1: '\"src\"', expected a field" },
		{ "dport = = 1", "character 9: '=', expected a port" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf why = STRBUF_INIT(4096);
		struct filter *filter;

		if (filter_parse(rows[i][0], &filter, &why) != -EINVAL)
			fail_msg("'%s' was taken", rows[i][0]);
		if (!strstr(strbuf_str(&why), rows[i][1]))
			fail_msg("'%s': %s", rows[i][0], strbuf_str(&why));
		strbuf_release(&why);
	}
}

static int try_many(const char *part, int n, const char *end, int ends)
{
	struct strbuf text = STRBUF_INIT(1 << 20), why = STRBUF_INIT(4096);
	struct filter *filter = NULL;
	int err;

	for (int i = 0; i < n; i++)
		strbuf_puts(&text, part);
	strbuf_puts(&text, "pid 1");
	for (int i = 0; i < ends; i++)
		strbuf_puts(&text, end);
	err = filter_parse(strbuf_str(&text), &filter, &why);
	assert_int_equal(err != 0, why.len != 0);
	filter_free(filter);
	strbuf_release(&text);
	strbuf_release(&why);
	return err;
}

static void limits(void **state)
{
	(void)state;
	assert_int_equal(try_many("(", FILTER_DEPTH_MAX, ")", FILTER_DEPTH_MAX), 0);
	assert_int_equal(try_many("(", FILTER_DEPTH_MAX + 1, ")", FILTER_DEPTH_MAX + 1), -E2BIG);
	assert_int_equal(try_many("!", FILTER_DEPTH_MAX, "", 0), 0);
	assert_int_equal(try_many("!", FILTER_DEPTH_MAX + 1, "", 0), -E2BIG);
	assert_int_equal(try_many("pid 1 ", FILTER_TERMS_MAX - 1, "", 0), 0);
	assert_int_equal(try_many("pid 1 ", FILTER_TERMS_MAX, "", 0), -E2BIG);
	assert_int_equal(try_many(" ", FILTER_LENGTH_MAX - 5, "", 0), 0);
	assert_int_equal(try_many(" ", FILTER_LENGTH_MAX - 4, "", 0), -E2BIG);
	/* Not only what is nested counts. */
	assert_int_equal(try_many("(pid 1)", FILTER_DEPTH_MAX * 2, "", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_match_views),
		cmocka_unit_test(unknown_fields_match_nothing),
		cmocka_unit_test(refused),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
