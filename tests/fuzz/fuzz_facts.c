/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any facts as those of a load's recording: how it was set up, which agents it had; and any text as
 * a schedule. Lines are "key value".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "load/agent_list.h"
#include "load/causes.h"
#include "load/dial_times.h"
#include "load/schedule.h"
#include "load/setup_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(char *text)
{
	static const struct provenance nobody = { .version = "1", .command = "load" };
	struct agent_list *list = calloc(1, sizeof(*list));
	struct load_setup *setup = calloc(1, sizeof(*setup));
	struct causes causes = { 0 };
	struct dial_times times;
	struct report r;

	BUG_ON(!list || !setup);
	BUG_ON(dial_times_init(&times));
	report_init(&r, &nobody);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *value = strchr(line, ' ');

		if (!value)
			continue;
		*value++ = '\0';
		agent_list_add_fact(list, line, value);
		load_setup_add_fact(setup, line, value);
		causes_add_fact(&causes, value);
		dial_times_add_fact(&times, value);
	}
	BUG_ON(list->n > LOAD_AGENTS_MAX);
	if (!load_setup_complete(setup))
		load_setup_report(setup, &r);
	agent_list_report(list, &r);
	dial_times_words(&times, &r);
	dial_times_report(&times, &r);
	dial_times_release(&times);
	load_setup_release(setup);
	report_release(&r);
	free(setup);
	free(list);
}

static void read_times(const uint8_t *data, size_t size)
{
	struct strbuf why = STRBUF_INIT(4096);
	const int fd = memfd_create("times", MFD_CLOEXEC);
	struct schedule times;
	char path[64];
	const struct arrival arrival = { .kind = ARRIVAL_FILE, .a = 1, .file = path };

	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!schedule_make(&times, &arrival, 1, 1ULL << 40, 1, &why))
		for (size_t i = 1; i < times.n; i++)
			BUG_ON(times.at_ns[i] < times.at_ns[i - 1]);
	schedule_release(&times);
	strbuf_release(&why);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size > 65536)
		return 0;
	text = malloc(size + 1);
	BUG_ON(!text);
	memcpy(text, data, size);
	text[size] = '\0';
	read_times(data, size);
	take(text);
	free(text);
	return 0;
}
