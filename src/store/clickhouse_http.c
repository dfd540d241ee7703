/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse_http.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "store/libcurl.h"

#define USER "HOSTLAT_STORE_USER"
#define PASSWORD "HOSTLAT_STORE_PASSWORD"
#define TIMEOUT "HOSTLAT_STORE_TIMEOUT" /* seconds in place of SILENT_S */

#define CONNECT_MS 5000L
#define SILENT_S 30L       /* without a byte in either direction: an error */
#define REQUEST_S 3600L
#define RECEIVE_BYTES 262144L
#define URL_MAX 8192u
#define HEADER_MAX 4096u
#define MESSAGE_MAX 2048u  /* bytes of the server's message that are read */
#define MESSAGE_SHOWN 400u
#define HTTP_OK 200
#define HTTP_UNAUTHORIZED 401
#define HTTP_FORBIDDEN 403
#define HTTP_SERVER_ERROR 500

struct clickhouse_http {
	const struct clickhouse_address *address;
	const struct libcurl *curl;
	CURL *handle;
	struct curl_slist *headers;
	long silent_s;             /* time without a byte that is an error */
	char curl_error[CURL_ERROR_SIZE];
	unsigned int server;       /* the one that has answered last */
	uint64_t down;             /* bits: servers that were not reached */
	/* the request that runs */
	const struct clickhouse_request *request;
	struct strbuf message;     /* the server's, in place of an answer */
	int take_err;
	bool has_taken;            /* `take` was called */
	bool may_pass;             /* its failure is one that another try may not have */
};

_Static_assert(CLICKHOUSE_SERVERS_MAX <= 64, "a bit for each server");

/* Error codes of ClickHouse, which are the same in all its versions. */
enum {
	CODE_UNKNOWN_IDENTIFIER = 47,
	CODE_UNKNOWN_TABLE = 60,
	CODE_SYNTAX = 62,
	CODE_UNKNOWN_DATABASE = 81,
	CODE_READONLY = 164,
	CODE_NO_CLUSTER = 170,
	CODE_UNKNOWN_USER = 192,
	CODE_WRONG_PASSWORD = 193,
	CODE_REQUIRED_PASSWORD = 194,
	CODE_ADDRESS_NOT_ALLOWED = 195,
	CODE_UNKNOWN_TABLE_FUNCTION = 46,
	CODE_ACCESS_DENIED = 497,
	CODE_AUTHENTICATION_FAILED = 516,
};

/* ---- making ---- */

static int http_add_header(struct clickhouse_http *http, const char *name, const char *value)
{
	struct strbuf line = STRBUF_INIT(HEADER_MAX);
	struct curl_slist *longer = NULL;

	strbuf_printf(&line, "%s:%s%s", name, *value ? " " : "", value);
	if (!line.error)
		longer = http->curl->slist_append(http->headers, strbuf_str(&line));
	strbuf_release(&line);
	if (!longer)
		return -ENOMEM;
	http->headers = longer;
	return 0;
}

/* Adds a header whose value is a variable of the environment, if that is set. */
static int http_add_secret(struct clickhouse_http *http, const char *header, const char *variable,
			   struct strbuf *why)
{
	const char *value = secure_getenv(variable);

	if (!value)
		return 0;
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == '\177') {
			strbuf_printf(why, "%s has a control character, such as a line's end: set "
				      "it without", variable);
			return -EINVAL;
		}
	}
	if (strlen(value) > HEADER_MAX / 2) {
		strbuf_printf(why, "%s has more than %u bytes", variable, HEADER_MAX / 2);
		return -EINVAL;
	}
	return http_add_header(http, header, value);
}

/* An empty "Expect" keeps libcurl from waiting for "100 Continue" before it sends rows. */
static int http_add_headers(struct clickhouse_http *http, struct strbuf *why)
{
	int err = http_add_secret(http, "X-ClickHouse-User", USER, why);

	if (!err)
		err = http_add_secret(http, "X-ClickHouse-Key", PASSWORD, why);
	if (!err)
		err = http_add_header(http, "Expect", "");
	if (!err)
		err = http_add_header(http, "Content-Type", "application/octet-stream");
	return err;
}

/* Sets the time without a byte that is an error. Returns 0, or -EINVAL after a sentence in *why. */
static int http_set_silence(struct clickhouse_http *http, struct strbuf *why)
{
	const char *text = secure_getenv(TIMEOUT);
	char *end;

	http->silent_s = SILENT_S;
	if (!text)
		return 0;
	http->silent_s = strtol(text, &end, 10);
	if (end != text && !*end && http->silent_s > 0 && http->silent_s <= REQUEST_S)
		return 0;
	strbuf_printf(why, TIMEOUT " takes seconds, 1 to %ld", REQUEST_S);
	return -EINVAL;
}

static size_t http_receive(char *bytes, size_t one, size_t n, void *user)
{
	struct clickhouse_http *http = user;
	long status = 0;

	(void)one;
	http->curl->getinfo(http->handle, CURLINFO_RESPONSE_CODE, &status);
	if (status != HTTP_OK) {
		const size_t room = MESSAGE_MAX - http->message.len;

		strbuf_add(&http->message, bytes, n < room ? n : room);
		return n;
	}
	if (!http->request->take)
		return n;
	http->has_taken = true;
	http->take_err = http->request->take(http->request->ctx, bytes, n);
	return http->take_err ? 0 : n;
}

/*
 * Options of all requests. A proxy of the environment is not used: it would see the password. The
 * file of trusted certificates is that of OpenSSL's variable, which libcurl itself does not read.
 */
static void http_set_options(struct clickhouse_http *http)
{
	CURLcode (*set)(CURL *, CURLoption, ...) = http->curl->setopt;
	const char *trusted = secure_getenv("SSL_CERT_FILE");

	set(http->handle, CURLOPT_NOSIGNAL, 1L);
	set(http->handle, CURLOPT_PROXY, "");
	set(http->handle, CURLOPT_FOLLOWLOCATION, 0L);
	set(http->handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	set(http->handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
	set(http->handle, CURLOPT_LOW_SPEED_TIME, http->silent_s);
	set(http->handle, CURLOPT_TIMEOUT, REQUEST_S);
	set(http->handle, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
	set(http->handle, CURLOPT_HTTPHEADER, http->headers);
	set(http->handle, CURLOPT_ERRORBUFFER, http->curl_error);
	set(http->handle, CURLOPT_WRITEFUNCTION, http_receive);
	set(http->handle, CURLOPT_WRITEDATA, http);
	set(http->handle, CURLOPT_SSL_VERIFYPEER, 1L);
	set(http->handle, CURLOPT_SSL_VERIFYHOST, 2L);
	if (trusted)
		set(http->handle, CURLOPT_CAINFO, trusted);
}

static int http_begin(struct clickhouse_http *http, struct strbuf *why)
{
	int err = libcurl_load(&http->curl, why);

	if (err)
		return err;
	http->handle = http->curl->init();
	err = http->handle ? http_add_headers(http, why) : -ENOMEM;
	err = err ? err : http_set_silence(http, why);
	if (err == -ENOMEM)
		strbuf_puts(why, "out of memory");
	if (!err)
		http_set_options(http);
	return err;
}

int clickhouse_http_new(const struct clickhouse_address *address, struct clickhouse_http **out,
			struct strbuf *why)
{
	struct clickhouse_http *http = calloc(1, sizeof(*http));
	int err;

	*out = NULL;
	if (!http) {
		strbuf_puts(why, "out of memory");
		return -ENOMEM;
	}
	http->address = address;
	strbuf_init(&http->message, MESSAGE_MAX);
	err = http_begin(http, why);
	if (err)
		clickhouse_http_free(http);
	else
		*out = http;
	return err;
}

void clickhouse_http_free(struct clickhouse_http *http)
{
	if (!http)
		return;
	if (http->handle)
		http->curl->cleanup(http->handle);
	if (http->headers)
		http->curl->slist_free_all(http->headers);
	strbuf_release(&http->message);
	free(http);
}

/* ---- failures ---- */

static int http_errno(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return -EHOSTUNREACH;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return -EKEYREJECTED;
	case CURLE_SSL_CONNECT_ERROR:
		return -EPROTO;
	default:
		return -ECONNRESET;
	}
}

/* Returns -errno of a failure without an answer, after a sentence about it. */
static int http_no_answer(struct clickhouse_http *http, unsigned int server, CURLcode code,
			  struct strbuf *why)
{
	const char *said = http->curl_error[0] ? http->curl_error : http->curl->strerror(code);
	const char *advice = "is ClickHouse running, and is this its HTTP port?";
	const int err = http_errno(code);

	if (err == -EKEYREJECTED)
		advice = "SSL_CERT_FILE can name a file with the certificate to trust";
	if (err == -ETIMEDOUT)
		advice = "is the server overloaded? " TIMEOUT " gives it more seconds";
	if (err == -EPROTO)
		advice = "is this its HTTPS port? Without TLS, the address begins with "
			 "clickhouse://";
	strbuf_printf(why, "no answer from ClickHouse at %s: %s (%s)",
		      http->address->server[server], said, advice);
	http->may_pass = err != -EKEYREJECTED && err != -EPROTO && err != -ENOMEM;
	return err;
}

/* Returns the code of the server's message: "Code: 60, e.displayText() = ..."; 0: none. */
static long http_code(const struct clickhouse_http *http)
{
	static const char begin[] = "Code: ";
	const char *at = strstr(strbuf_str(&http->message), begin);

	return at ? strtol(at + sizeof(begin) - 1, NULL, 10) : 0;
}

/* Appends the first line of the server's message, fit for a terminal. */
static void http_put_message(const struct clickhouse_http *http, struct strbuf *why)
{
	const char *text = strbuf_str(&http->message);
	char line[MESSAGE_SHOWN + 1];
	const size_t n = strcspn(text, "\r\n");

	snprintf(line, sizeof(line), "%.*s", (int)n, text);
	utf8_put_clean(why, n ? line : "without a message");
}

static int http_refused(const struct clickhouse_http *http, unsigned int server, struct strbuf *why)
{
	strbuf_printf(why, "ClickHouse at %s refuses the user, the password or what they may do: "
		      "set " USER " and " PASSWORD " (", http->address->server[server]);
	http_put_message(http, why);
	strbuf_puts(why, ")");
	return -EACCES;
}

/* Returns -errno of a server's error, after a sentence about it. */
static int http_failed(struct clickhouse_http *http, unsigned int server, long status,
		       struct strbuf *why)
{
	int err = -EIO;

	http->may_pass = false;
	switch (http_code(http)) {
	case CODE_UNKNOWN_USER:
	case CODE_WRONG_PASSWORD:
	case CODE_REQUIRED_PASSWORD:
	case CODE_ADDRESS_NOT_ALLOWED:
	case CODE_READONLY:
	case CODE_ACCESS_DENIED:
	case CODE_AUTHENTICATION_FAILED:
		return http_refused(http, server, why);
	case CODE_UNKNOWN_TABLE:
	case CODE_UNKNOWN_DATABASE:
		err = -ENOENT;
		break;
	case CODE_UNKNOWN_IDENTIFIER:
	case CODE_SYNTAX:
	case CODE_NO_CLUSTER:
		break;
	default:
		if (status == HTTP_UNAUTHORIZED || status == HTTP_FORBIDDEN)
			return http_refused(http, server, why);
		http->may_pass = status >= HTTP_SERVER_ERROR;
	}
	strbuf_printf(why, "ClickHouse at %s failed: HTTP status %ld, ",
		      http->address->server[server], status);
	http_put_message(http, why);
	return err;
}

/* ---- one request ---- */

/* SQL goes into the URL if the body is rows. It has names only, no text of a user. */
static int http_put_url(const struct clickhouse_http *http, unsigned int server,
			const struct clickhouse_request *request, struct strbuf *url)
{
	char *sql;

	strbuf_printf(url, "%s://%s/?%s", http->address->tls ? "https" : "http",
		      http->address->server[server], request->settings);
	if (!request->data)
		return url->error;
	sql = http->curl->escape(http->handle, request->sql, 0);
	if (!sql)
		return -ENOMEM;
	strbuf_printf(url, "%squery=%s", *request->settings ? "&" : "", sql);
	http->curl->free(sql);
	return url->error;
}

static void http_set_body(const struct clickhouse_http *http,
			  const struct clickhouse_request *request)
{
	const void *body = request->data ? request->data : request->sql;
	const size_t size = request->data ? request->size : strlen(request->sql);

	http->curl->setopt(http->handle, CURLOPT_POST, 1L);
	http->curl->setopt(http->handle, CURLOPT_POSTFIELDS, body);
	http->curl->setopt(http->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
}

static int http_perform(struct clickhouse_http *http, unsigned int server, struct strbuf *why)
{
	const CURLcode code = http->curl->perform(http->handle);
	long status = 0;

	if (http->take_err)
		return http->take_err;
	if (code != CURLE_OK) {
		http->down |= 1ULL << server;
		return http_no_answer(http, server, code, why);
	}
	http->curl->getinfo(http->handle, CURLINFO_RESPONSE_CODE, &status);
	if (status != HTTP_OK)
		return http_failed(http, server, status, why);
	http->server = server;
	return 0;
}

int clickhouse_http_at(struct clickhouse_http *http, unsigned int server,
		       const struct clickhouse_request *request, struct strbuf *why)
{
	struct strbuf url = STRBUF_INIT(URL_MAX);
	int err = http_put_url(http, server, request, &url);

	http->request = request;
	http->take_err = 0;
	http->has_taken = http->may_pass = false;
	http->curl_error[0] = '\0';
	strbuf_reset(&http->message);
	if (err) {
		strbuf_puts(why, "out of memory");
	} else {
		http->curl->setopt(http->handle, CURLOPT_URL, strbuf_str(&url));
		http_set_body(http, request);
		err = http_perform(http, server, why);
	}
	strbuf_release(&url);
	return err;
}

/* ---- several servers, several tries ---- */

static void http_wait(unsigned int seconds)
{
	struct timespec rest = { .tv_sec = seconds };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
		;
}

/* Sends a request to each server until one answers. *why tells of the last failure alone. */
static int http_round(struct clickhouse_http *http, const struct clickhouse_request *request,
		      struct strbuf *why)
{
	const unsigned int first = http->server, n = http->address->n;
	const size_t before = why->len;
	int err = 0;

	for (unsigned int i = 0; i < n; i++) {
		strbuf_truncate(why, before);
		err = clickhouse_http_at(http, (first + i) % n, request, why);
		if (!err || !http->may_pass || http->has_taken)
			break;
	}
	return err;
}

int clickhouse_http_any(struct clickhouse_http *http, const struct clickhouse_request *request,
			unsigned int retries, struct strbuf *why)
{
	const size_t before = why->len;
	int err = http_round(http, request, why);

	for (unsigned int i = 0; i < retries && err && http->may_pass && !http->has_taken; i++) {
		http_wait(1u << i);
		strbuf_truncate(why, before);
		err = http_round(http, request, why);
	}
	return err;
}

bool clickhouse_http_is_down(const struct clickhouse_http *http, unsigned int server)
{
	return http->down >> server & 1;
}

void clickhouse_http_forgive(struct clickhouse_http *http)
{
	http->down = 0;
}
