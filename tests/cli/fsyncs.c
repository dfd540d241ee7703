/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a program that is run with this in LD_PRELOAD: each fsync() and rename is a line of the file
 * FSYNCS: "file", "folder" or "rename".
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(const char *line)
{
	const char *path = getenv("FSYNCS");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;

	if (fd < 0)
		return;
	if (write(fd, line, strlen(line)) < 0)
		abort();
	close(fd);
}

int fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
	struct stat st;

	if (!fstat(fd, &st))
		note(S_ISDIR(st.st_mode) ? "folder\n" : "file\n");
	return real(fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	int (*real)(int, const char *, int, const char *) =
		(int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");

	note("rename\n");
	return real(from_folder, from, to_folder, to);
}
