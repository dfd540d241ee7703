/* SPDX-License-Identifier: Apache-2.0 */
/* Files of recorded requests: what is sent, when, and what is wrong with a file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/replay.h"
#include "load/schedule.h"
#include "load/workload.h"

/* A file in memory. */
struct file {
	int fd;
	char path[64];
};

static struct file file_of(const char *text)
{
	struct file f = { .fd = memfd_create("requests", MFD_CLOEXEC) };

	assert_true(f.fd >= 0);
	assert_int_equal(write(f.fd, text, strlen(text)), strlen(text));
	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
	return f;
}

/* The requests of a file, to be sent to a URL. */
struct rig {
	struct file file;
	struct request_options options;
	struct target target;
	struct workload workload;
	struct replay *replay;
	struct strbuf why;
};

static void rig_init_with(struct rig *rig, const char *url, const char *text, const char *header,
			  const char *auth)
{
	struct load_config config = { .arrival = "poisson" };

	*rig = (struct rig){ .file = file_of(text), .why = STRBUF_INIT(4096) };
	rig->options.auth = auth;
	if (header)
		rig->options.headers = (struct opt_list){ .items = { header }, .len = 1 };
	config.replay = rig->file.path;
	config.request = rig->options;
	if (replay_read(&rig->replay, &config, &rig->why))
		fail_msg("%s", strbuf_str(&rig->why));
	assert_int_equal(target_parse(url, &rig->target, &rig->why), 0);
	rig->target.options = &rig->options;
	assert_int_equal(workload_parse(&rig->workload, NULL, &rig->target, &rig->why), 0);
	rig->workload.replay = rig->replay;
	if (replay_check(rig->replay, &rig->target, &rig->workload, &rig->why))
		fail_msg("%s", strbuf_str(&rig->why));
}

static void rig_init(struct rig *rig, const char *url, const char *text, const char *header)
{
	rig_init_with(rig, url, text, header, NULL);
}

static void rig_release(struct rig *rig)
{
	replay_free(rig->replay);
	workload_release(&rig->workload);
	strbuf_release(&rig->why);
	close(rig->file.fd);
}

static void check_sent(struct rig *rig, uint64_t number, uint16_t type, const char *expected)
{
	const size_t max = replay_request_max(rig->replay) + rig->workload.request_overhead;
	struct encoded_request out = { .number = number };
	char *buffer = malloc(max);

	assert_non_null(buffer);
	assert_int_equal(replay_encode(&rig->workload, buffer, 1, &out), -ENOBUFS);
	assert_int_equal(replay_encode(&rig->workload, buffer, max, &out), 0);
	assert_int_equal(out.size, strlen(expected));
	assert_memory_equal(buffer, expected, out.size);
	assert_int_equal(out.type, type);
	free(buffer);
}

static const char http_text[] =
	"\xef\xbb\xbf" "time,method,path,headers,body\r\n"
	"5,GET,/a?x={key},\"host: h2\nX-A: 1, \"\"2\"\"\r\nConnection: close\",\r\n"
	"5.25,POST,/b,User-Agent: me,\"line\nend \"\"quoted\"\"\"\n"
	"\n"
	"6.000000001999,DELETE,\"/c,d\",\"Content-Length: 7\nAuthorization: x\",\n"
	"7,PUT,/e,,";

static void test_http(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, "http://u:p@h", http_text, NULL);
	check_sent(&rig, 1, OPERATION_SET, "POST /b HTTP/1.1\r\nHost: h\r\n"
		   "Authorization: Basic dTpw\r\nUser-Agent: me\r\nContent-Length: 17\r\n\r\n"
		   "line\nend \"quoted\"");
	rig_release(&rig);
	rig_init(&rig, "http://h:81", http_text, "X-A: {seq}");
	/* Own fields win over defaults, --header wins over own fields. */
	check_sent(&rig, 5, OPERATION_SET, "POST /b HTTP/1.1\r\nHost: h:81\r\nX-A: 5\r\n"
		   "User-Agent: me\r\nContent-Length: 17\r\n\r\nline\nend \"quoted\"");
	rig_release(&rig);
	rig_init(&rig, "http://h", http_text, "User-Agent:");
	check_sent(&rig, 0, OPERATION_GET,
		   "GET /a?x={key} HTTP/1.1\r\nhost: h2\r\nX-A: 1, \"2\"\r\n\r\n");
	check_sent(&rig, 2, OPERATION_DELETE,
		   "DELETE /c,d HTTP/1.1\r\nHost: h\r\nAuthorization: x\r\n\r\n");
	check_sent(&rig, 3, OPERATION_SET, "PUT /e HTTP/1.1\r\nHost: h\r\n"
		   "Content-Length: 0\r\n\r\n");
	check_sent(&rig, 4, OPERATION_GET,
		   "GET /a?x={key} HTTP/1.1\r\nhost: h2\r\nX-A: 1, \"2\"\r\n\r\n");
	rig_release(&rig);
	/* --auth replaces a recorded token, too. */
	assert_int_equal(setenv("HOSTLAT_TEST_LOGIN", "u:p", 1), 0);
	rig_init_with(&rig, "http://h", http_text, "User-Agent:", "basic:env:HOSTLAT_TEST_LOGIN");
	check_sent(&rig, 2, OPERATION_DELETE, "DELETE /c,d HTTP/1.1\r\nHost: h\r\n"
		   "Authorization: Basic dTpw\r\n\r\n");
	rig_release(&rig);
}

static const char cache_text[] =
	"10,k,1,5,7,get,0\n10,k,1,5,7,gets,0\r\n10,k,1,3,7,set,9999999\n11,a,b,3,0,7,delete,0\n"
	"11,k,1,21,7,add,5\n11,k,1,0,7,cas,0\n14,k,1,0,7,incr,0\n";

static void test_cache(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, "memcached://h", cache_text, NULL);
	check_sent(&rig, 0, OPERATION_GET, "get k\r\n");
	check_sent(&rig, 1, OPERATION_GET, "gets k\r\n");
	check_sent(&rig, 2, OPERATION_SET, "set k 0 2592000 3\r\n111\r\n");
	check_sent(&rig, 3, OPERATION_DELETE, "delete a,b\r\n");
	check_sent(&rig, 5, OPERATION_SET, "set k 0 0 0\r\n\r\n");
	check_sent(&rig, 6, OPERATION_COMMAND, "incr k 1\r\n");
	rig_release(&rig);
}

/* Makes the times of a file; returns the error, with the sentence in `why`. */
static int times_of(const char *text, double speed, uint64_t seed, struct schedule *s,
		    struct strbuf *why)
{
	const struct file f = file_of(text);
	const struct arrival arrival = { .kind = ARRIVAL_FILE, .a = speed, .file = f.path };
	int err;

	strbuf_reset(why);
	err = schedule_make(s, &arrival, 1, 4 * NS_PER_S, seed, why);
	close(f.fd);
	return err;
}

static void test_times(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct schedule s, again;

	(void)state;
	assert_int_equal(times_of(http_text, 1, 1, &s, &why), 0);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.at_ns[0], 0);
	assert_int_equal(s.at_ns[1], NS_PER_S / 4);
	assert_int_equal(s.at_ns[2], NS_PER_S + 1);
	assert_int_equal(s.span_ns, 2 * NS_PER_S + 1);
	schedule_release(&s);
	assert_int_equal(times_of(http_text, 0.25, 1, &s, &why), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.at_ns[1], NS_PER_S);
	schedule_release(&s);
	/* Each request within its second, by the seed; the last one is beyond the end. */
	assert_int_equal(times_of(cache_text, 1, 1, &s, &why), 0);
	assert_int_equal(times_of(cache_text, 1, 1, &again, &why), 0);
	assert_int_equal(s.n, 6);
	assert_memory_equal(s.at_ns, again.at_ns, 6 * sizeof(*s.at_ns));
	schedule_release(&again);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(s.at_ns[i] / NS_PER_S, i / 3);
	assert_true(s.at_ns[0] < s.at_ns[1] && s.at_ns[1] < s.at_ns[2]);
	assert_int_equal(times_of(cache_text, 1, 2, &again, &why), 0);
	assert_int_not_equal(s.at_ns[0], again.at_ns[0]);
	schedule_release(&again);
	schedule_release(&s);
	assert_int_equal(times_of(cache_text, 10, 1, &s, &why), 0);
	assert_int_equal(s.n, 7);
	assert_int_equal(s.span_ns, NS_PER_S / 2);
	assert_true(s.at_ns[6] >= NS_PER_S * 4 / 10 && s.at_ns[6] < NS_PER_S / 2);
	schedule_release(&s);
	strbuf_release(&why);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", ":1: the first line must be the header" },
		{ "5\n6\n", ":1: the first line must be the header" },
		{ "time,method,path,colour\n", ":1: the columns must be of" },
		{ "time,method,path,time\n", ":1: the columns must be of" },
		{ "time,path\n", ":1: the columns time, method and path must not be missing" },
		{ "time,method,path\n", ": the file has no request" },
		{ "time,method,path\n1,GET\n", ":2: the row has another number of fields" },
		{ "time,method,path\n\n1,GET,/\n1s,GET,/\n", ":4: the time must be in seconds" },
		{ "time,method,path\n-1,GET,/\n", ":2: the time must be in seconds" },
		{ "time,method,path\n2,GET,/\n1,GET,/\n", ":3: the time is earlier than" },
		{ "time,method,path\n2,\"GET,/\n", ":2: a quoted field of this row has no end" },
		{ "time,method,path\n2,\"GET\"x,/\n", ":2: a comma or the end of the line must" },
		{ "time,method,path\n2,G\"T,/\n", ":2: a field that contains a quote" },
		{ "time,method,path\n2,get,/\n", ":2: the method is none that can be sent" },
		{ "time,method,path\n2,CONNECT,/\n", ":2: the method is none that can be sent" },
		{ "time,method,path\n2,GET,a\n", ":2: the path must begin with '/'" },
		{ "time,method,path\n2,GET,\"/a\nb\"\n", ":2: the path must begin with '/'" },
		{ "time,method,path\n2,GET,/a\x01\n", ":2: the path must begin with '/'" },
		{ "time,method,path,headers\n2,GET,/,\"A: b\nC\"\n",
		  ":2: each line of the headers must be 'NAME: VALUE'" },
		{ "1,k,1,5,7\n", ":1: a row of cache-trace has" },
		{ "1,k,1,5,7,get,0\n2,k,1,x,7,get,0\n", ":2: value size and TTL must be whole" },
		{ "1,k,1,5,7,get,0\nx,k,1,5,7,get,0\n", ":2: the timestamp must be in whole" },
		{ "1,k,1,5,7,take,0\n", ":1: the operation must be get, gets, set, add" },
		{ "1,k k,1,5,7,get,0\n", ":1: a key must have 1 to 250 bytes without blanks" },
		{ "1,k,1,67108865,7,set,0\n", ":1: the value has more than 64 MiB" },
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct replay *replay;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct file f = file_of(cases[i].text);
		const struct load_config config = { .arrival = "poisson", .replay = f.path };

		strbuf_reset(&why);
		assert_int_equal(replay_read(&replay, &config, &why), -EINVAL);
		assert_null(replay);
		if (strncmp(strbuf_str(&why), f.path, strlen(f.path)) != 0 ||
		    strncmp(strbuf_str(&why) + strlen(f.path), cases[i].error,
			    strlen(cases[i].error)) != 0)
			fail_msg("%s, not %s", strbuf_str(&why), cases[i].error);
		close(f.fd);
	}
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http), cmocka_unit_test(test_cache),
		cmocka_unit_test(test_times), cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
