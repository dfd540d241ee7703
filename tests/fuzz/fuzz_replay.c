/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any file of recorded requests: what is accepted encodes into the promised size, each request of
 * HTTP begins with a request line and has one end of its head; its times ascend, as many as there
 * are requests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/replay.h"
#include "load/schedule.h"
#include "load/workload.h"

#define SPAN (1000 * NS_PER_S)
#define REQUESTS_CHECKED 64

/* Encodes the first requests of the file, and one that begins it again. */
static void check_requests(const struct replay *replay, const char *url, size_t n)
{
	struct strbuf why = STRBUF_INIT(1 << 16);
	struct encoded_request out = { 0 };
	struct workload w;
	struct target target;
	size_t max;
	char *buffer;

	BUG_ON(target_parse(url, &target, &why) || workload_parse(&w, NULL, &target, &why));
	BUG_ON(replay_check(replay, &target, &w, &why));
	w.replay = replay;
	max = replay_request_max(replay) + w.request_overhead;
	buffer = malloc(max);
	BUG_ON(!buffer);
	for (size_t i = 0; i <= n && i < REQUESTS_CHECKED; i++) {
		out.number = i;
		BUG_ON(replay_encode(&w, buffer, max, &out) || out.size > max || out.size < 4);
		if (target.protocol->http)
			BUG_ON(!memmem(buffer, out.size, " HTTP/1.1\r\n", 11) ||
			       !memmem(buffer, out.size, "\r\n\r\n", 4));
		else
			BUG_ON(memcmp(buffer + out.size - 2, "\r\n", 2) != 0);
	}
	free(buffer);
	workload_release(&w);
	strbuf_release(&why);
}

static size_t count_times(const char *path, struct strbuf *why)
{
	const struct arrival arrival = { .kind = ARRIVAL_FILE, .a = 1, .file = path };
	struct schedule s;
	size_t n;

	BUG_ON(schedule_make(&s, &arrival, 1, SPAN, 1, why));
	for (size_t i = 0; i < s.n; i++)
		BUG_ON(s.at_ns[i] >= SPAN || (i && s.at_ns[i] < s.at_ns[i - 1]));
	n = s.n;
	schedule_release(&s);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("requests", MFD_CLOEXEC);
	struct strbuf why = STRBUF_INIT(1 << 20);
	struct load_config config = { .arrival = "poisson" };
	struct replay_file *file;
	struct replay *replay;
	char path[64];
	int err;

	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	config.replay = path;
	err = replay_read(&replay, &config, &why);
	BUG_ON((err != 0) != (why.len != 0));
	if (!err) {
		BUG_ON(replay_file_open(&file, path, &why));
		check_requests(replay, replay_file_format(file) == REPLAY_HTTP ? "http://h" :
										 "memcached://h",
			       count_times(path, &why));
		replay_file_close(file);
		replay_free(replay);
	}
	strbuf_release(&why);
	close(fd);
	return 0;
}
