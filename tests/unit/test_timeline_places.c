/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of a timeline's tasks are in the recording, once for each name of a task. */
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

#include "event/dict.h"
#include "event/reader.h"
#include "probe/cpu/timeline.h"

#define START 1000
#define TEXT 1024
#define CRON (1ULL << 40 | 5)

static int fd;
static struct event_writer *writer;
static struct timeline *timeline;
/* Only one of two control groups is known. */
static int place(void *ctx, uint64_t id, struct timeline_path *path)
{
	unsigned int *asked = ctx;

	(*asked)++;
	if (id != CRON)
		return -ENOENT;
	*path = (struct timeline_path){ "/system.slice/cron.service", "cron.service" };
	return 0;
}

static void begin(unsigned int *asked)
{
	const struct timeline_lookup lookup = { .place = place, .ctx = asked };
	const struct event_writer_options options = { .stream = 1 };

	fd = memfd_create("timeline", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	assert_int_equal(timeline_new(&timeline, 1, START, &lookup), 0);
}

static void run(uint64_t time, uint32_t before, uint32_t next)
{
	const struct act act = { .time = time, .type = ACT_SWITCH, .a = before, .b = next };

	assert_int_equal(timeline_put(timeline, writer, 0, &act), 0);
}

static void name_in(uint32_t tid, const char *comm, uint64_t cgroup)
{
	struct act act = { .tgid = tid, .cgroup = (uint32_t)cgroup, .type = ACT_NAME, .a = tid,
			   .arg = (uint16_t)(cgroup >> 32) };

	snprintf(act.comm, sizeof(act.comm), "%s", comm);
	assert_int_equal(timeline_put(timeline, writer, 0, &act), 0);
}

/* Ends the recording and writes what it says of tasks' control groups, "TASK CGROUP UNIT\n". */
static void finish_places(char *text)
{
	struct event_dict *dict = event_dict_new();
	struct event_reader *reader;
	struct event_block block;
	struct event event;
	size_t len;

	assert_non_null(dict);
	assert_int_equal(timeline_end(timeline, writer, 9000), 0);
	assert_int_equal(event_writer_close(writer), 0);
	assert_int_equal(event_reader_new(&reader, fd), 0);
	assert_int_equal(event_reader_names(reader, dict), 0);
	text[0] = '\0';
	while (event_source_next(event_reader_source(reader), &block) > 0) {
		size_t at = 0;

		while (block.kind == EV_NONE && event_block_next(&block, &at, &event)) {
			const struct event_task *e = event.payload;

			if (event.kind != EV_TASK)
				continue;
			len = strlen(text);
			snprintf(text + len, TEXT - len, "%s %s %s\n",
				 event_dict_get(dict, DICT_TASK, e->task),
				 e->cgroup ? event_dict_get(dict, DICT_CGROUP, e->cgroup) : "?",
				 e->unit ? event_dict_get(dict, DICT_UNIT, e->unit) : "?");
		}
	}
	event_reader_free(reader);
	event_dict_free(dict);
	timeline_free(timeline);
	close(fd);
}

/*
 * A task's control group, with each of its names, once; none of groups that are unknown. Each group
 * is looked up once.
 */
static void test_places(void **state)
{
	unsigned int asked = 0;
	char text[TEXT];

	(void)state;
	begin(&asked);
	name_in(20, "bash", CRON);
	run(1100, 0, 20);
	name_in(20, "gzip", CRON);
	run(1200, 20, 0);
	name_in(20, "gzip", CRON);
	run(1300, 0, 20);
	name_in(21, "gone", 5);
	run(1400, 20, 21);
	name_in(22, "gone", 5);
	run(1500, 21, 22);
	name_in(23, "none", 0);
	run(1600, 22, 23);
	finish_places(text);
	assert_string_equal(text, "bash (20/20) /system.slice/cron.service cron.service\n"
				  "gzip (20/20) /system.slice/cron.service cron.service\n");
	assert_int_equal(asked, 2);
}

/* A task that is moved to an unknown group has no place any more. */
static void test_moved(void **state)
{
	unsigned int asked = 0;
	char text[TEXT];

	(void)state;
	begin(&asked);
	name_in(20, "bash", CRON);
	run(1100, 0, 20);
	run(1200, 20, 0);
	name_in(20, "bash", 5);
	run(1300, 0, 20);
	run(1400, 20, 0);
	name_in(20, "bash", CRON);
	run(1500, 0, 20);
	finish_places(text);
	assert_string_equal(text, "bash (20/20) /system.slice/cron.service cron.service\n"
				  "bash (20/20) ? ?\n"
				  "bash (20/20) /system.slice/cron.service cron.service\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
