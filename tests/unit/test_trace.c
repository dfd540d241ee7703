/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the kernel's trace buffers: what is in them, what is missing, what makes no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "trace/calls.h"
#include "trace/symbols.h"

#define PAGE 4096
#define MISSED (1U << 31)

static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

#define COMMON									\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* Not where kernels of today have it. */
static const char entry_format[] = "name: funcgraph_entry\nID: 21\nformat:\n" COMMON
	"\tfield:int depth;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long func;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"x\"\n";
static const char exit_format[] = "name: funcgraph_exit\nID: 22\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"x\"\n";

static unsigned char page[PAGE];
static size_t len;
static char seen[2000];

static void show(void *ctx, const struct trace_call *call)
{
	static const char *const names[] = { "call", "return", "lost", "again" };
	const size_t at = strlen(seen);

	(void)ctx;
	snprintf(seen + at, sizeof(seen) - at, "%s %d %d\n", names[call->what], (int)call->time,
		 (int)call->address);
}

static void begin_page(uint64_t time)
{
	memset(page, 0, sizeof(page));
	memcpy(page, &time, sizeof(time));
	len = 16;
}

static void word(uint32_t type, uint32_t delta)
{
	const uint32_t value = type | delta << 5;

	memcpy(page + len, &value, sizeof(value));
	len += sizeof(value);
}

static void raw(uint32_t value)
{
	memcpy(page + len, &value, sizeof(value));
	len += sizeof(value);
}

static void event(uint32_t delta, uint16_t type, uint64_t func)
{
	const uint32_t at = type == 21 ? 16 : 8;

	word((at + 8) / 4, delta);
	memcpy(page + len, &type, sizeof(type));
	memcpy(page + len + at, &func, sizeof(func));
	len += at + 8;
}

static void use(struct trace_calls *calls, const struct trace_format *format, uint32_t flags)
{
	const uint64_t length = (len - 16) | flags;

	memcpy(page + 8, &length, sizeof(length));
	trace_calls_page(calls, format, page, sizeof(page), show, NULL);
}

static struct trace_format make(void)
{
	struct trace_format format;

	assert_int_equal(trace_format_read(&format, header_page, entry_format, exit_format), 0);
	seen[0] = '\0';
	return format;
}

static void test_format(void **state)
{
	struct trace_format f = make();

	(void)state;
	assert_int_equal(f.page.data_at, 16);
	assert_int_equal(f.entry, 21);
	assert_int_equal(f.exit, 22);
	assert_int_equal(f.entry_func.at, 16);
	assert_int_equal(f.exit_func.at, 8);
	assert_int_equal(trace_format_read(&f, header_page, entry_format, "name: x\n"), -EBADMSG);
	assert_int_equal(trace_format_read(&f, "nothing", entry_format, exit_format), -EBADMSG);
}

/* Texts of an entry that differ from a good one in one thing. */
static void test_damaged_format(void **state)
{
	static const struct {
		const char *type, *func;
		int err;
	} rows[] = {
		{ "common_type;\toffset:0;\tsize:2;", "long *func[1];\toffset:8;\tsize:8;", 0 },
		{ "common[\301type;\toffset:0;\tsize:2;", "func;\toffset:8;\tsize:8;", -EBADMSG },
		{ "common_type[;\toffset:0;\tsize:2;", "x_func;\toffset:8;\tsize:8;", -EBADMSG },
		{ "common_type;\toffset:0;\tsize:2;", "func;\toffset:4097;\tsize:8;", -EBADMSG },
		{ "common_type;\toffset:0;\tsize:2;", "func;\toffset:-8;\tsize:8;", -EBADMSG },
		{ "common_type;\toffset:0;\tsize:2;", "func;\toffset:8;\tsize:3;", -EBADMSG },
		{ "common_type;\toffset:0;\tsize:2;",
		  "func;\toffset:18446744073709551624;\tsize:8;", -EBADMSG },
		{ "common_type;\toffset:0;\tsize:2;", "func", -EBADMSG },
	};
	struct trace_format f;
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(text, sizeof(text), "ID: 1\n\tfield:short %s\n\tfield:long %s",
			 rows[i].type, rows[i].func);
		if (trace_format_read(&f, header_page, text, text) != rows[i].err)
			fail_msg("%s", text);
	}
}

static void test_times_of_pages(void **state)
{
	const struct trace_format f = make();
	struct trace_calls calls = { .last = 900 };

	(void)state;
	begin_page(1000);
	event(0, 21, 5);
	event(10, 99, 5);			/* somebody else's */
	word(30, 7);				/* 7 + (1 << 27) later */
	raw(1);
	event(3, 22, 5);
	word(29, 4);				/* taken back: 8 bytes in all after its head */
	raw(8);
	raw(0);
	word(31, 9);				/* it is 9 + (3 << 27) */
	raw(3);
	word(0, 1);				/* its length is in a word of its own */
	raw(4 + 16);
	raw(22);
	raw(0);
	raw(6);
	raw(0);
	word(29, 0);				/* nothing more */
	raw(12345);
	use(&calls, &f, 0);
	assert_string_equal(seen, "call 1000 5\n"
				  "return 134218748 5\n"
				  "return 402653194 6\n");
	assert_false(calls.broken);
}

static void test_missing_events(void **state)
{
	const struct trace_format f = make();
	struct trace_calls calls = { .last = 900 };

	(void)state;
	begin_page(1000);
	event(0, 21, 5);
	use(&calls, &f, 0);
	begin_page(2000);
	event(0, 22, 7);
	use(&calls, &f, MISSED);
	begin_page(3000);
	event(0, 21, 8);
	word(10, 1);				/* reaches beyond the page's length */
	use(&calls, &f, 0);
	begin_page(4000);
	event(0, 21, 9);
	use(&calls, &f, 0);
	begin_page(3999);			/* back in time */
	event(0, 21, 10);
	use(&calls, &f, 0);
	assert_true(calls.broken);
	assert_string_equal(seen, "call 1000 5\n"
				  "lost 1000 0\n"
				  "again 2000 0\n"
				  "return 2000 7\n"
				  "call 3000 8\n"
				  "lost 3000 0\n"
				  "again 4000 0\n"
				  "call 4000 9\n");
}

static void test_symbols(void **state)
{
	static const char text[] = "ffffffff81000010 T second\nffffffff81000000 t first\t[veth]\n"
				   "ffffffff81000004 d data\n0000000000000000 T none\n";
	static const char hidden[] = "0000000000000000 T first\n";
	int fd = memfd_create("symbols", 0);
	struct symbols *s;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(symbols_read(&s, path), 0);
	assert_string_equal(symbols_name(s, 0xffffffff81000004), "first");
	assert_string_equal(symbols_name(s, 0xffffffff81000010), "second");
	assert_null(symbols_name(s, 0xffffffff81000021));
	assert_null(symbols_name(s, 0xffffffff80ffffff));
	symbols_free(s);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, hidden, strlen(hidden), 0), strlen(hidden));
	assert_int_equal(symbols_read(&s, path), -EPERM);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format), cmocka_unit_test(test_damaged_format),
		cmocka_unit_test(test_times_of_pages),
		cmocka_unit_test(test_missing_events),
		cmocka_unit_test(test_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
