/* SPDX-License-Identifier: Apache-2.0 */
#include "base/readfile.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/invoker.h"

int readfile_fd(int fd, struct strbuf *text)
{
	char chunk[16384];
	ssize_t n;

	while (!text->error && (n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		strbuf_add(text, chunk, n < 0 ? 0 : (size_t)n);
	}
	return text->error;
}

int readfile(const char *path, struct strbuf *text)
{
	int fd = invoker_open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? fd : readfile_fd(fd, text);

	if (fd >= 0)
		close(fd);
	return err;
}
