/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outfile.h"
#include "base/strbuf.h"

static bool nameless; /* the file system knows files without a name */

/* Each test runs in an empty folder of its own. */
static int enter_folder(void **state)
{
	char *folder = strdup("/tmp/hostlat-outfile-XXXXXX");

	*state = folder;
	return !folder || !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
	int err;

	unlink("result");
	unlink("link");
	err = chdir("/") || rmdir(*state);
	free(*state);
	return err;
}

static int files_here(void)
{
	DIR *dir = opendir(".");
	int n = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static int remove_temporary(pid_t writer)
{
	char name[64];

	snprintf(name, sizeof(name), "result.%ld.0.tmp", (long)writer);
	return unlink(name);
}

static void assert_content(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

static void write_result(const char *path, const char *text)
{
	struct outfile file;

	assert_int_equal(outfile_open(&file, path), 0);
	assert_int_equal(outfile_write(&file, text, strlen(text)), 0);
	assert_int_equal(outfile_commit(&file), 0);
}

static void test_replace(void **state)
{
	struct outfile file;
	struct stat st;

	(void)state;
	write_result("result", "first");
	assert_int_equal(chmod("result", 0640), 0);
	assert_int_equal(symlink("result", "link"), 0);
	assert_int_equal(outfile_open(&file, "link"), 0);
	assert_int_equal(outfile_write(&file, "second", 6), 0);
	assert_content("result", "first");
	assert_int_equal(outfile_commit(&file), 0);
	assert_content("result", "second");
	assert_int_equal(stat("result", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(files_here(), 2);
}

static void test_abandon(void **state)
{
	struct outfile file = { 0 };

	(void)state;
	outfile_release(&file);
	outfile_release(NULL);
	write_result("result", "old");
	assert_int_equal(outfile_open(&file, "result"), 0);
	assert_int_equal(outfile_write(&file, "new", 3), 0);
	assert_int_equal(files_here(), nameless ? 1 : 2);
	outfile_release(&file);
	assert_content("result", "old");
	assert_int_equal(files_here(), 1);
}

static void write_and_die(void)
{
	struct outfile file;

	if (!outfile_open(&file, "result") && !outfile_write(&file, "new", 3))
		raise(SIGKILL);
	_exit(1);
}

static void test_killed(void **state)
{
	pid_t child;
	int status;

	(void)state;
	write_result("result", "old");
	child = fork();
	if (!child)
		write_and_die();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_content("result", "old");
	assert_int_equal(files_here(), nameless ? 1 : 2);
	if (!nameless)
		assert_int_equal(remove_temporary(child), 0);
}

static void test_names(void **state)
{
	char folder[256], path[264];

	(void)state;
	assert_non_null(getcwd(folder, sizeof(folder)));
	snprintf(path, sizeof(path), "%s/result", folder);
	write_result(path, "by its whole path");
	assert_content("result", "by its whole path");
	write_result("./result", "from here");
	assert_content("result", "from here");
	assert_int_equal(files_here(), 1);
}

/* A file-size limit is a full disk that needs no disk: the error stays and nothing is left. */
static void test_no_room(void **state)
{
	struct rlimit old, small = { .rlim_cur = 4096 };
	char block[3000] = "";
	struct outfile file;

	(void)state;
	write_result("result", "old");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(outfile_open(&file, "result"), 0);
	assert_int_equal(outfile_write(&file, block, sizeof(block)), 0);
	assert_int_equal(outfile_write(&file, block, sizeof(block)), -EFBIG);
	assert_int_equal(outfile_write(&file, "x", 1), -EFBIG);
	assert_int_equal(outfile_commit(&file), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_content("result", "old");
	assert_int_equal(files_here(), 1);
}

static void test_in_place(void **state)
{
	struct outfile file;
	struct stat st;

	(void)state;
	assert_int_equal(outfile_open(&file, "/dev/full"), 0);
	assert_int_equal(outfile_write(&file, "x", 1), -ENOSPC);
	assert_int_equal(outfile_commit(&file), -ENOSPC);
	write_result("/dev/null", "gone");
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* One place by several names, before it is made and after; a device is nobody's. */
static void test_same(void **state)
{
	char folder[256], path[264];

	(void)state;
	assert_non_null(getcwd(folder, sizeof(folder)));
	snprintf(path, sizeof(path), "%s/result", folder);
	for (int there = 0; there <= 1; there++) {
		assert_true(outfile_same("result", "./result"));
		assert_true(outfile_same("result", path));
		assert_false(outfile_same("result", "results"));
		assert_false(outfile_same("result", "/tmp/result"));
		assert_false(outfile_same("result", "-"));
		write_result("result", "it is there");
	}
	assert_int_equal(symlink("result", "link"), 0);
	assert_true(outfile_same("link", path));
	assert_true(outfile_same("-", NULL));
	assert_false(outfile_same("/dev/null", "/dev/null"));
	assert_false(outfile_same("no/such/folder", "result"));
}

static void test_refused(void **state)
{
	struct outfile file;

	(void)state;
	assert_int_equal(outfile_open(&file, "no/such/folder"), -ENOENT);
	outfile_release(&file);
	assert_int_equal(outfile_open(&file, "."), -EISDIR);
	assert_int_equal(files_here(), 0);
}

/* A text that was cut, for want of memory or by its limit, does not become a whole file. */
static void test_put(void **state)
{
	struct strbuf whole = STRBUF_INIT(64), cut = STRBUF_INIT(4);

	(void)state;
	strbuf_puts(&whole, "whole");
	strbuf_puts(&cut, "longer than four");
	assert_int_equal(outfile_put("result", &whole), 0);
	assert_content("result", "whole");
	assert_int_equal(outfile_put("result", &cut), cut.error);
	assert_true(cut.error < 0);
	assert_content("result", "whole");
	assert_int_equal(files_here(), 1);
	strbuf_release(&whole);
	strbuf_release(&cut);
}

/* From here on this process is on a file system that knows no O_TMPFILE. */
static bool refuse_nameless(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) &&
	       open("/tmp", O_WRONLY | O_TMPFILE, 0600) < 0;
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(test_replace),  in_folder(test_abandon), in_folder(test_no_room),
		in_folder(test_in_place), in_folder(test_refused), in_folder(test_killed),
		in_folder(test_names),	  in_folder(test_same),	   in_folder(test_put),
	};
	int fd = open("/tmp", O_WRONLY | O_TMPFILE, 0600), failed = 0;

	nameless = fd >= 0;
	if (nameless) {
		close(fd);
		failed = cmocka_run_group_tests_name("without a name", tests, NULL, NULL);
		/* An emulated processor's system calls are not filtered. */
		if (!refuse_nameless())
			return failed;
		nameless = false;
	}
	return failed + cmocka_run_group_tests_name("by a temporary name", tests, NULL, NULL);
}
