/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of HTTP by their options, byte for byte, and the options that are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "base/version.h"
#include "load/http_auth.h"
#include "load/protocol.h"
#include "load/tls_counts.h"
#include "load/template.h"
#include "load/workload.h"

#define URL "http://h"
#define OCTETS "Content-Type: application/octet-stream\r\n"

/* `lines` between the request line and Content-Length; "~" in it is the default User-Agent. */
struct row {
	const char *url, *workload;
	struct request_options options;
	const char *request_line, *lines, *body; /* body NULL: no Content-Length */
};

#define HEADERS(...)                                                                               \
	{ .items = { __VA_ARGS__ },                                                                \
	  .len = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *) }

static const struct row rows[] = {
	{ URL, NULL, { .headers = HEADERS("X-A: 1", "X-A:2  ", "Accept:\t*/*") }, "GET /",
	  "Host: h\r\n~X-A: 1\r\nX-A: 2\r\nAccept: */*\r\n", NULL },
	{ URL, NULL, { .headers = HEADERS("user-agent: me", "HOST: other:80") }, "GET /",
	  "Host: other:80\r\nUser-Agent: me\r\n", NULL },
	{ URL, NULL, { .headers = HEADERS("User-Agent:") }, "GET /", "Host: h\r\n", NULL },
	{ URL, NULL, { .headers = HEADERS("Authorization: Bearer x") }, "GET /",
	  "Host: h\r\n~Authorization: Bearer x\r\n", NULL },
	{ "http://u:p@h/", NULL, { .method = "GET" }, "GET /",
	  "Host: h\r\n~Authorization: Basic dTpw\r\n", NULL },
	{ URL, NULL, { .method = "HEAD" }, "HEAD /", "Host: h\r\n~", NULL },
	{ URL, NULL, { .method = "OPTIONS" }, "OPTIONS /", "Host: h\r\n~", NULL },
	{ URL, NULL, { .method = "DELETE" }, "DELETE /", "Host: h\r\n~", NULL },
	{ URL, NULL, { .method = "PUT" }, "PUT /", "Host: h\r\n~", "" },
	{ URL, NULL, { .method = "M-SEARCH" }, "M-SEARCH /", "Host: h\r\n~", "" },
	{ URL, NULL, { .method = "DELETE", .body = "x" }, "DELETE /", "Host: h\r\n~" OCTETS, "x" },
	{ URL, NULL, { .body = "{\"a\": {\"b\": 1}}" }, "POST /", "Host: h\r\n~" OCTETS,
	  "{\"a\": {\"b\": 1}}" },
	{ URL, NULL, { .body = "x", .headers = HEADERS("Content-Type: text/plain") }, "POST /",
	  "Host: h\r\n~Content-Type: text/plain\r\n", "x" },
	{ URL "/a/{key}/{seq}", "keys=1,key=3", { .headers = HEADERS("X: {seq}/{key}") },
	  "GET /a/000/4711", "Host: h\r\n~X: 4711/000\r\n", NULL },
	{ URL, "keys=1,key=3,value=5", { .body = "{seq}-{random:1}-{key}-{value}-\\{key}" },
	  "POST /", "Host: h\r\n~" OCTETS, "4711-0-000-@@@@@-{key}" },
	{ URL, "value=0", { .body = "{value}", .method = "PATCH" }, "PATCH /",
	  "Host: h\r\n~" OCTETS, "" },
	{ URL, NULL, { .body = "{ {a b} {1} {} { \\{x} {" }, "POST /", "Host: h\r\n~" OCTETS,
	  "{ {a b} {1} {} { {x} {" },
};

/* Writes the request that a row expects; '@' in its body is a byte of the value. */
static void expect(const struct row *row, const struct workload *w, struct strbuf *out)
{
	const char *value = workload_bytes(w);

	strbuf_printf(out, "%s HTTP/1.1\r\n", row->request_line);
	for (const char *p = row->lines; *p; p++) {
		if (*p == '~')
			strbuf_printf(out, "User-Agent: hostlat/%s\r\n", hostlat_version());
		else
			strbuf_putc(out, *p);
	}
	if (row->body)
		strbuf_printf(out, "Content-Length: %zu\r\n", strlen(row->body));
	strbuf_puts(out, "\r\n");
	for (const char *p = row->body ? row->body : ""; *p; p++)
		strbuf_putc(out, *p == '@' ? *value++ : *p);
}

static int make(struct workload *w, struct target *t, const char *url, const char *workload,
		const struct request_options *options, struct strbuf *why)
{
	int err = target_parse(url, t, why);

	t->options = options;
	return err ? err : workload_parse(w, workload, t, why);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf why = STRBUF_INIT(4096), expected = STRBUF_INIT(65536);
		struct encoded_request out = { .number = 4711 };
		struct workload w;
		struct target t;
		struct rng rng;
		char *buffer;

		if (make(&w, &t, rows[i].url, rows[i].workload, &rows[i].options, &why))
			fail_msg("row %zu: %s", i, strbuf_str(&why));
		rng_init(&rng, 1);
		buffer = calloc(1, workload_request_max(&w) + 1);
		assert_non_null(buffer);
		assert_int_equal(protocol_encode(t.protocol, &w, &rng, 1, buffer,
						 workload_request_max(&w), &out), 0);
		expect(&rows[i], &w, &expected);
		assert_string_equal(buffer, strbuf_str(&expected));
		assert_int_equal(out.size, expected.len);
		free(buffer);
		workload_release(&w);
		strbuf_release(&expected);
		strbuf_release(&why);
	}
}

/* ---- many requests ---- */


/* Encodes 1000 requests with a body "{random:1000}", of 1 to 3 digits. */
static void test_lengths(void **state)
{
	const struct request_options options = { .body = "{random:1000}" };
	struct strbuf why = STRBUF_INIT(4096);
	bool seen[1000] = { false };
	unsigned int distinct = 0, digits[4] = { 0 };
	struct workload w;
	struct target t;
	struct rng rng;
	char buffer[4096];

	(void)state;
	assert_int_equal(make(&w, &t, URL, NULL, &options, &why), 0);
	for (uint64_t n = 0; n < 1000; n++) {
		struct encoded_request out = { .number = n };
		const char *at, *body;
		size_t length;

		rng_init(&rng, n + 1);
		memset(buffer, 0, sizeof(buffer));
		assert_int_equal(protocol_encode(t.protocol, &w, &rng, 1, buffer, sizeof(buffer),
						 &out), 0);
		at = strstr(buffer, "Content-Length: ");
		body = strstr(buffer, "\r\n\r\n") + 4;
		length = strtoul(at + 16, NULL, 10);
		assert_int_equal(length, strlen(body));
		assert_int_equal(body + length - buffer, out.size);
		assert_true(length >= 1 && length <= 3);
		digits[length]++;
		distinct += !seen[strtoul(body, NULL, 10)];
		seen[strtoul(body, NULL, 10)] = true;
	}
	/* 1000 draws have 632 values on average, and 10 and 90 of the shorter ones. */
	assert_true(distinct > 560 && distinct < 700);
	assert_true(digits[1] > 0 && digits[2] > 50 && digits[3] > 800);
	workload_release(&w);
	strbuf_release(&why);
}

/* The mix of operations keeps its draws: a seed gives the same operations as ever. */
static void test_mix(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	unsigned int counts[OPERATIONS] = { 0 };
	struct workload w;
	struct target t;
	struct rng rng;
	char buffer[4096];

	(void)state;
	assert_int_equal(make(&w, &t, URL "/{key}", "read=0.4,head=0.3,delete=0.2", NULL, &why), 0);
	rng_init(&rng, 1);
	for (int i = 0; i < 10000; i++) {
		static const char *const methods[] = { "GET /", "POST /", "DELETE /", "HEAD /" };
		struct encoded_request out = { 0 };

		assert_int_equal(protocol_encode(t.protocol, &w, &rng, 1, buffer, sizeof(buffer),
						 &out), 0);
		counts[out.type]++;
		assert_memory_equal(buffer, methods[out.type], strlen(methods[out.type]));
	}
	assert_true(counts[OPERATION_GET] > 3800 && counts[OPERATION_GET] < 4200);
	assert_true(counts[OPERATION_HEAD] > 2800 && counts[OPERATION_HEAD] < 3200);
	assert_true(counts[OPERATION_DELETE] > 1850 && counts[OPERATION_DELETE] < 2150);
	assert_true(counts[OPERATION_SET] > 850 && counts[OPERATION_SET] < 1150);
	workload_release(&w);
	strbuf_release(&why);
}

/* A file is sent as it is: neither its placeholders nor its zero bytes mean anything. */
static void test_file(void **state)
{
	static const char content[] = "a{key}\0{bogus}\r\n";
	char path[] = "/tmp/hostlat-test-XXXXXX", name[64];
	struct strbuf why = STRBUF_INIT(4096);
	struct request_options options = { 0 };
	struct encoded_request out = { 0 };
	struct workload w;
	struct target t;
	struct rng rng;
	char buffer[4096];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
	close(fd);
	snprintf(name, sizeof(name), "@%s", path);
	options.body = name;
	assert_int_equal(make(&w, &t, URL, NULL, &options, &why), 0);
	rng_init(&rng, 1);
	assert_int_equal(protocol_encode(t.protocol, &w, &rng, 1, buffer, sizeof(buffer), &out), 0);
	assert_memory_equal(buffer + out.size - sizeof(content), content, sizeof(content));
	workload_release(&w);
	unlink(path);
	assert_int_equal(make(&w, &t, URL, NULL, &options, &why), -ENOENT);
	assert_non_null(strstr(strbuf_str(&why), "--body: cannot read /tmp/hostlat-test-"));
	strbuf_release(&why);
}

/* ---- refused options ---- */

static const struct {
	const char *url;
	struct request_options options;
	const char *why;
} refused[] = {
	{ URL, { .headers = HEADERS("X") }, "--header takes 'NAME: VALUE', with a colon" },
	{ URL, { .headers = HEADERS(": x") }, "a name has letters, digits and" },
	{ URL, { .headers = HEADERS("a b: x") }, "a name has letters, digits and" },
	{ URL, { .headers = HEADERS("X: a\r\nY: b") }, "a value cannot contain a line end" },
	{ URL, { .headers = HEADERS("X: a\nY: b") }, "a value cannot contain a line end" },
	{ URL, { .headers = HEADERS("X: a\x01") }, "the value of X has a control character" },
	{ URL, { .headers = HEADERS("content-length: 3") }, "remove content-length" },
	{ URL, { .headers = HEADERS("Transfer-Encoding: chunked") }, "remove Transfer-Encoding" },
	{ URL, { .headers = HEADERS("X-Empty: ") }, "--header: X-Empty has no value" },
	{ URL, { .headers = HEADERS("host: a", "Host: b") }, "--header: Host is given twice" },
	{ URL, { .headers = HEADERS("X: {keys}") }, "--header: '{keys}' is no placeholder" },
	{ URL, { .headers = HEADERS("X: {value}") }, "{value} belongs into --body" },
	{ "http://u:p@h", { .headers = HEADERS("Authorization: x") },
	  "--header Authorization cannot be combined with --auth or a user in the URL" },
	{ URL "/{id}", { .body = NULL }, "the URL's path: '{id}' is no placeholder" },
	{ URL "/{value}", { .body = NULL }, "{value} belongs into --body" },
	{ URL, { .body = "{random}" }, "--body: '{random}' is no placeholder: use {key}, {value}, "
				       "{seq} or {random:N}, or write \\{ for a brace" },
	{ URL, { .body = "{random:0}" }, "'{random:0}' is no placeholder" },
	{ URL, { .body = "{random:}" }, "'{random:}' is no placeholder" },
	{ URL, { .body = "{random:1x}" }, "'{random:1x}' is no placeholder" },
	{ URL, { .body = "{random:99999999999999999999999}" }, "is no placeholder" },
	{ URL, { .body = "{value}{value}" }, "--body: {value} is given twice" },
	{ URL, { .method = "get" }, "write GET, not get" },
	{ URL, { .method = "Put" }, "write PUT, not Put" },
	{ URL, { .method = "GET /x" }, "--http-method takes up to 32 letters, digits and" },
	{ URL, { .method = "A\r\nB" }, "--http-method takes up to 32 letters, digits and" },
	{ URL, { .method = "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG" }, "--http-method takes up to 32" },
	{ URL, { .method = "CONNECT" }, "CONNECT opens a tunnel" },
	{ URL, { .method = "GET", .body = "x" }, "--body: a GET request has no body: remove "
						  "--http-method GET" },
	{ URL, { .method = "HEAD", .body = "x" }, "--body: a HEAD request has no body" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct strbuf why = STRBUF_INIT(4096);
		struct workload w;
		struct target t;

		if (make(&w, &t, refused[i].url, NULL, &refused[i].options, &why) != -EINVAL)
			fail_msg("accepted: %s", refused[i].why);
		if (!strstr(strbuf_str(&why), refused[i].why))
			fail_msg("'%s' is not in '%s'", refused[i].why, strbuf_str(&why));
		strbuf_release(&why);
	}
}

static void test_too_long(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct request_options options = { 0 };
	char text[REQUEST_HEADER_BYTES_MAX + 2];
	struct workload w;
	struct target t;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "X: ", 3);
	options.headers = (struct opt_list)HEADERS(text);
	assert_int_equal(make(&w, &t, URL, NULL, &options, &why), -EINVAL);
	assert_string_equal(strbuf_str(&why), "--header: a field has at most 8000 bytes");
	text[sizeof(text) - 2] = '\0';
	assert_int_equal(make(&w, &t, URL, NULL, &options, &why), 0);
	workload_release(&w);
	options = (struct request_options){ .body = text };
	strbuf_reset(&why);
	assert_int_equal(make(&w, &t, URL, NULL, &options, &why), -EINVAL);
	assert_string_equal(strbuf_str(&why),
			    "--body takes a text of at most 4096 bytes: use --body @FILE");
	text[REQUEST_BODY_TEXT_MAX] = '\0';
	for (size_t i = 0; i + 5 <= REQUEST_BODY_TEXT_MAX; i += 5)
		memcpy(text + i, "{seq}", 5);
	strbuf_reset(&why);
	assert_int_equal(make(&w, &t, URL, NULL, &options, &why), -EINVAL);
	assert_string_equal(strbuf_str(&why), "a request has at most 128 placeholders");
	strbuf_release(&why);
}

/* ---- credentials ---- */

static void test_auth(void **state)
{
	static const struct {
		const char *secret, *text, *expected; /* expected: the value, or part of `why` */
		int err;
	} cases[] = {
		{ "u:p", "basic:env:HOSTLAT_TEST", "Basic dTpw", 0 },
		{ "u:", "basic:env:HOSTLAT_TEST", "Basic dTo=", 0 },
		{ "t0k.en", "bearer:env:HOSTLAT_TEST", "Bearer t0k.en", 0 },
		{ "no colon", "basic:env:HOSTLAT_TEST", "basic needs USER:PASSWORD", -EBADMSG },
		{ "q w", "bearer:env:HOSTLAT_TEST", "a bearer token has no blanks", -EBADMSG },
		{ "a:\r\nX: y", "basic:env:HOSTLAT_TEST", "a control character", -EBADMSG },
		{ "", "bearer:env:HOSTLAT_TEST", "the secret is empty", -EBADMSG },
		{ NULL, "bearer:env:HOSTLAT_TEST",
		  "the environment variable HOSTLAT_TEST is not set", -ENOKEY },
		{ NULL, "bearer:@/no/such", "--auth: cannot read /no/such: No such file", -ENOENT },
		{ NULL, "bearer:secret", "--auth takes basic:@FILE", -EINVAL },
		{ NULL, "bearer:", "--auth takes basic:@FILE", -EINVAL },
		{ NULL, "bearer:@", "--auth takes basic:@FILE", -EINVAL },
		{ NULL, "bearer:env:", "--auth takes basic:@FILE", -EINVAL },
		{ NULL, "digest:@x", "--auth takes basic:@FILE", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strbuf out = STRBUF_INIT(HTTP_AUTH_VALUE_MAX), why = STRBUF_INIT(4096);

		unsetenv("HOSTLAT_TEST");
		if (cases[i].secret)
			setenv("HOSTLAT_TEST", cases[i].secret, 1);
		assert_int_equal(http_auth_read(cases[i].text, &out, &why), cases[i].err);
		if (!cases[i].err)
			assert_string_equal(strbuf_str(&out), cases[i].expected);
		else if (!strstr(strbuf_str(&why), cases[i].expected))
			fail_msg("'%s' is not in '%s'", cases[i].expected, strbuf_str(&why));
		/* No message shows a secret, not even one in its wrong place. */
		assert_null(strstr(strbuf_str(&why), "bearer:secret"));
		assert_true(!cases[i].secret || !*cases[i].secret ||
			    !strstr(strbuf_str(&why), cases[i].secret));
		strbuf_release(&out);
		strbuf_release(&why);
	}
	unsetenv("HOSTLAT_TEST");
}

static void test_auth_file(void **state)
{
	char path[] = "/tmp/hostlat-test-XXXXXX", text[64];
	struct strbuf out = STRBUF_INIT(HTTP_AUTH_VALUE_MAX), why = STRBUF_INIT(4096);
	struct request_options options = { .auth = text };
	struct workload w;
	struct target t;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "tok\r\nmore\n", 11), 11);
	snprintf(text, sizeof(text), "bearer:@%s", path);
	assert_int_equal(http_auth_read(text, &out, &why), 0);
	assert_string_equal(strbuf_str(&out), "Bearer tok");
	assert_int_equal(make(&w, &t, "http://u:p@h", NULL, &options, &why), -EINVAL);
	assert_string_equal(strbuf_str(&why), "--auth cannot be combined with a user in the URL");
	assert_int_equal(ftruncate(fd, HTTP_AUTH_SECRET_MAX + 1), 0);
	strbuf_reset(&why);
	assert_int_equal(http_auth_read(text, &out, &why), -EFBIG);
	assert_string_equal(strbuf_str(&why), "--auth: a secret has at most 8000 bytes");
	close(fd);
	unlink(path);
	strbuf_release(&out);
	strbuf_release(&why);
}

/* ---- options of connections ---- */

static void test_split(void **state)
{
	static const struct {
		const char *text, *host, *port; /* host NULL: refused */
	} cases[] = {
		{ "a", "a", "80" }, { "a:1", "a", "1" }, { "10.0.0.1:65535", "10.0.0.1", "65535" },
		{ "[::1]", "::1", "80" }, { "[fe80::1%eth0]:9", "fe80::1%eth0", "9" },
		{ "", NULL, NULL }, { ":1", NULL, NULL }, { "a:", NULL, NULL },
		{ "a:0", NULL, NULL }, { "a:65536", NULL, NULL }, { "::1", NULL, NULL },
		{ "[::1", NULL, NULL }, { "[::1]9", NULL, NULL }, { "[a]:1", NULL, NULL },
		{ "a b", NULL, NULL }, { "http://a", NULL, NULL }, { "u@a", NULL, NULL },
	};
	static const char *const names[] = { "10.0.0.1", "::1", "a b", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char host[256], port[16] = "80";
		int err = request_options_split(cases[i].text, host, port);

		assert_int_equal(err, cases[i].host ? 0 : -EINVAL);
		if (err)
			continue;
		assert_string_equal(host, cases[i].host);
		assert_string_equal(port, cases[i].port);
	}
	for (size_t i = 0; i + 1 < ARRAY_LEN(names); i++) {
		const struct request_options o = { .sni = names[i] };
		struct strbuf why = STRBUF_INIT(4096);

		assert_int_equal(request_options_check(&o, &why), -EINVAL);
		assert_non_null(strstr(strbuf_str(&why), "--sni takes a host name"));
		strbuf_release(&why);
	}
}

static void test_tls_counts(void **state)
{
	static const char *const bad[] = { "", "1", "1 2", "x 1", "3 -1", "3 1 1", " 1",
					   "99999999999999999999 1" };
	struct tls_counts counts = { 0 };

	(void)state;
	assert_int_equal(tls_counts_add_fact(&counts, "3 2"), 0);
	assert_int_equal(tls_counts_add_fact(&counts, "4 0"), 0);
	assert_true(counts.handshakes == 7 && counts.resumed == 2);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(tls_counts_add_fact(&counts, bad[i]), -EBADMSG);
	assert_true(counts.handshakes == 7 && counts.resumed == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_mix),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_auth),
		cmocka_unit_test(test_auth_file),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_tls_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
