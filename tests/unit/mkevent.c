/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkevent FILE: writes the sample of event_sample.c, which is how the golden file of a schema is
 * made, once. mkevent --raw FILE: without compression. mkevent --dump FILE: an event file as text.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event/reader.h"
#include "event_sample.h"

static int dump(const char *path)
{
	struct event_reader *reader;
	int err = event_reader_open(&reader, path);

	if (err) {
		fprintf(stderr, "mkevent: %s: %s\n", path, strerror(-err));
		return 1;
	}
	event_dump(event_reader_source(reader), stdout);
	damage_dump(event_reader_source(reader), stdout);
	event_reader_free(reader);
	return 0;
}

static int make(const char *path, bool raw)
{
	const struct event_writer_options options = sample_options(raw);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	struct event_writer *writer;
	int err;

	if (fd < 0 || event_writer_new(&writer, fd, &options)) {
		perror(path);
		return 1;
	}
	err = sample_write(writer, 0);
	if (!err)
		err = event_writer_close(writer);
	close(fd);
	if (err)
		fprintf(stderr, "mkevent: %s: %s\n", path, strerror(-err));
	return err != 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--dump") == 0)
		return dump(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--raw") == 0)
		return make(argv[2], true);
	if (argc == 2)
		return make(argv[1], false);
	fputs("usage: mkevent [--raw|--dump] FILE\n", stderr);
	return 1;
}
