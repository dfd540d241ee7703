/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a recording of messages and CPU activity from a script: see ../sim/trace_script.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../sim/trace_script.h"

#define SCRIPT_MAX 65536

int main(int argc, char **argv)
{
	static char text[SCRIPT_MAX];
	FILE *in;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: mktrace SCRIPT FILE\n");
		return 1;
	}
	in = fopen(argv[1], "r");
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!in || fd < 0) {
		perror("mktrace");
		return 1;
	}
	if (fread(text, 1, sizeof(text) - 1, in) == sizeof(text) - 1) {
		fprintf(stderr, "mktrace: %s is too long\n", argv[1]);
		return 1;
	}
	fclose(in);
	trace_script(argv[1], text, fd);
	return close(fd) ? 1 : 0;
}
