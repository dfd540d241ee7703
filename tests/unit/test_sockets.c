/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the process that holds a socket, in a tree of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/sockets.h"

static const struct {
	const char *path, *target; /* a folder without one */
} tree[] = {
	{ "41", NULL }, { "41/fd", NULL }, { "41/fd/0", "/dev/null" },
	{ "41/fd/3", "socket:[4294967301]" }, { "41/fd/4", "pipe:[77]" },
	{ "42", NULL }, /* a process whose files cannot be read */
	{ "43", NULL }, { "43/fd", NULL }, { "43/fd/9", "socket:[77]" },
};

struct found {
	unsigned int n;
	int result;
};

static int take(void *ctx, pid_t pid, uint64_t inode)
{
	struct found *found = ctx;

	found->n++;
	assert_true((pid == 41 && inode == 4294967301) || (pid == 43 && inode == 77));
	return found->result;
}

static void test_sockets(void **state)
{
	char top[] = "/tmp/sockets-XXXXXX", path[128];
	struct host_root root = { .proc = top };
	struct found found = { 0, 0 };

	(void)state;
	assert_non_null(mkdtemp(top));
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", top, tree[i].path);
		assert_int_equal(tree[i].target ? symlink(tree[i].target, path) :
						  mkdir(path, 0755), 0);
	}
	assert_int_equal(host_socket_each(&root, take, &found), 0);
	assert_int_equal(found.n, 2);
	found = (struct found){ 0, -EINTR };
	assert_int_equal(host_socket_each(&root, take, &found), -EINTR);
	assert_int_equal(found.n, 1);
	for (size_t i = sizeof(tree) / sizeof(tree[0]); i--;) {
		snprintf(path, sizeof(path), "%s/%s", top, tree[i].path);
		assert_int_equal(remove(path), 0);
	}
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
