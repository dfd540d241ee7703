/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line as an arrival, the rest as a file of times. What is accepted is a schedule as the
 * header says; a file that was read is written and read again as the same.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/schedule.h"

#define SECONDS 10
#define RATE 50

static int memory_file(const void *data, size_t size, char name[32])
{
	int fd = memfd_create("times", MFD_CLOEXEC);

	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static int make(struct schedule *s, const struct arrival *arrival)
{
	struct strbuf why = STRBUF_INIT(1 << 16);
	int err = schedule_make(s, arrival, RATE, SECONDS * NS_PER_S, 1, &why);

	BUG_ON((err != 0) != (why.len > 0));
	for (size_t i = 0; i < s->n; i++)
		BUG_ON(s->at_ns[i] >= SECONDS * NS_PER_S || (i && s->at_ns[i] < s->at_ns[i - 1]));
	strbuf_release(&why);
	return err;
}

static void check_arrival(const char *text)
{
	struct strbuf why = STRBUF_INIT(1 << 16);
	struct arrival arrival;
	struct schedule s;
	double p;
	int err = arrival_parse(text, &arrival, &why);

	BUG_ON((err != 0) != (why.len > 0));
	strbuf_release(&why);
	if (err || arrival.kind == ARRIVAL_FILE)
		return;
	p = arrival_gap_probability(&arrival, RATE, SECONDS * NS_PER_S, 1e9, 1.02e9);
	BUG_ON(arrival.kind != ARRIVAL_FIXED && !isnan(p) && !(p >= 0 && p <= 1));
	/* Bursts far shorter than the run take long. */
	if (arrival.kind == ARRIVAL_ONOFF && arrival.a + arrival.b < (double)NS_PER_MS)
		return;
	make(&s, &arrival);
	schedule_release(&s);
}

static void check_file(const void *data, size_t size)
{
	struct arrival arrival = { .kind = ARRIVAL_FILE, .a = 1 };
	struct schedule s, again;
	struct outfile file;
	char name[32], copy[32];
	int fd = memory_file(data, size, name);

	arrival.file = name;
	if (make(&s, &arrival) == 0) {
		int out = memory_file("", 0, copy);

		file = (struct outfile){ .open = true, .fd = out };
		BUG_ON(schedule_dump(&s, &file));
		arrival.file = copy;
		BUG_ON(s.n && make(&again, &arrival));
		BUG_ON(s.n && (again.n != s.n ||
			       memcmp(again.at_ns, s.at_ns, s.n * sizeof(*s.at_ns))));
		if (s.n)
			schedule_release(&again);
		close(out);
	}
	schedule_release(&s);
	arrival.file = name;
	arrival.a = 1.7;
	make(&s, &arrival);
	schedule_release(&s);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t line = end ? (size_t)(end - data) : size;
	char *text = strndup((const char *)data, line);

	BUG_ON(!text);
	check_arrival(text);
	free(text);
	if (end)
		check_file(end + 1, size - line - 1);
	return 0;
}
