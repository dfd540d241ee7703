/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/reader.h"
#include "event_file.h"
#include "event_sample.h"

int memory_file(const void *data, size_t size)
{
	const int fd = memfd_create("event", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

struct bytes contents(int fd)
{
	struct bytes bytes = { .size = lseek(fd, 0, SEEK_END) };

	bytes.data = malloc(bytes.size + 1);
	assert_non_null(bytes.data);
	assert_int_equal(pread(fd, bytes.data, bytes.size, 0), bytes.size);
	return bytes;
}

struct bytes make_sample(bool raw, uint32_t filler)
{
	const struct event_writer_options options = sample_options(raw);
	const int fd = memory_file("", 0);
	struct event_writer *writer;
	struct bytes bytes;

	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	assert_int_equal(sample_write(writer, filler), 0);
	assert_int_equal(event_writer_close(writer), 0);
	bytes = contents(fd);
	close(fd);
	return bytes;
}

char *read_text(const void *data, size_t size, struct event_damage *damage, int *err)
{
	const int fd = memory_file(data, size);
	struct event_reader *reader;
	char *text = NULL;
	size_t length;
	FILE *out;

	*err = event_reader_new(&reader, fd);
	if (!*err) {
		out = open_memstream(&text, &length);
		event_dump(event_reader_source(reader), out);
		fclose(out);
		if (damage)
			event_source_damage(event_reader_source(reader), damage);
		event_reader_free(reader);
	}
	close(fd);
	return text;
}

char *read_pipe_text(const void *data, size_t size, struct event_damage *damage)
{
	struct event_reader *reader;
	char *text = NULL;
	size_t length;
	int ends[2];
	FILE *out;

	assert_int_equal(pipe(ends), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, size) >= (int)size);
	assert_int_equal(write(ends[1], data, size), size);
	close(ends[1]);
	if (event_reader_new(&reader, ends[0]) == 0) {
		out = open_memstream(&text, &length);
		event_dump(event_reader_source(reader), out);
		fclose(out);
		event_source_damage(event_reader_source(reader), damage);
		assert_int_equal(event_source_rewind(event_reader_source(reader)), -ESPIPE);
		event_reader_free(reader);
	}
	close(ends[0]);
	return text;
}

char *whole_text(struct bytes bytes)
{
	struct event_damage damage;
	int err;
	char *text = read_text(bytes.data, bytes.size, &damage, &err);

	assert_int_equal(err, 0);
	assert_int_equal(damage.reasons, 0);
	assert_int_equal(damage.bytes, 0);
	return text;
}
