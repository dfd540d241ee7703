/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that can't be started leave this process as it was. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/load_spawn.h"

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Descriptor 0 is standard input, and nobody's namespace. */
static void test_long_command(void **state)
{
	const struct load_host here = { .kind = HOST_LOCAL };
	struct strbuf why = STRBUF_INIT(1024);
	struct load_process process;
	char command[5000];
	int before;

	(void)state;
	memset(command, 'x', sizeof(command) - 1);
	command[sizeof(command) - 1] = '\0';
	if (fcntl(0, F_GETFD) < 0)
		assert_int_equal(open("/dev/null", O_RDONLY), 0);
	before = open_files();
	assert_true(load_process_start(&process, &here, command, &why) < 0);
	assert_non_null(strstr(strbuf_str(&why), "4096 bytes"));
	assert_true(fcntl(0, F_GETFD) >= 0);
	assert_int_equal(open_files(), before);
	assert_int_equal(process.pid, 0);
	strbuf_release(&why);
}

static void test_standard_input_is_no_namespace(void **state)
{
	const struct load_host nowhere = { .kind = HOST_NETNS, .name = "no-such-namespace" };
	struct strbuf why = STRBUF_INIT(1024);
	struct load_process process;
	int before = open_files();

	(void)state;
	assert_true(load_process_start(&process, &nowhere, "hostlat", &why) < 0);
	assert_true(why.len > 0);
	assert_int_equal(open_files(), before);
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_standard_input_is_no_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
