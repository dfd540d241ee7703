/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/recorded_file.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "cmd/cmd.h"

struct event_reader *recorded_file_open(const char *path)
{
	struct event_reader *reader;
	int err = event_reader_open(&reader, path);

	if (!err)
		return reader;
	if (err == -ENOEXEC)
		log_error("can't read %s: this is no hostlat recording", path);
	else if (err == -EPROTONOSUPPORT)
		log_error("can't read %s: it was recorded by a newer version of hostlat, or in "
			  "another byte order", path);
	else
		log_error("can't read %s: %s", path, strerror(-err));
	return NULL;
}

void recorded_file_failed(const char *path, const char *verb, int err)
{
	if (err == -ESPIPE)
		log_error("%s can't be read twice: keep it in a file first", path);
	else if (err == -E2BIG)
		log_error("%s is of more CPUs than can be diagnosed", path);
	else
		log_error("can't %s %s: %s", verb, path, strerror(-err));
}

int recorded_file_read(const char *path, int (*take)(void *ctx, const struct event_block *block),
		       void *ctx, struct event_damage *damage)
{
	struct event_reader *reader = recorded_file_open(path);
	struct event_block block;
	int err;

	if (!reader)
		return EXIT_CANNOT;
	while ((err = event_source_next(event_reader_source(reader), &block)) > 0) {
		err = take(ctx, &block);
		if (err)
			break;
	}
	event_source_damage(event_reader_source(reader), damage);
	event_reader_free(reader);
	if (err < 0 && err != -ECANCELED) /* which has been said */
		log_error("can't read %s: %s", path, strerror(-err));
	return err < 0 ? EXIT_CANNOT : EXIT_OK;
}

int recorded_file_events(struct event_reader *reader,
			 int (*take)(void *ctx, const struct event *event), void *ctx)
{
	const struct event_window window = { .kind = EV_NONE, .core = EVENT_CORE_NONE,
					     .to = UINT64_MAX };
	struct event_source *source = event_reader_source(reader);
	struct event_block block;
	int err = event_source_seek(source, &window);

	while (!err && (err = event_source_next(source, &block)) > 0) {
		struct event event;
		size_t at = 0;

		err = 0;
		while (!err && event_block_next(&block, &at, &event))
			err = take(ctx, &event);
	}
	return err;
}

/* A percentile, 0 and 100 included: 0..1. */
static bool parse_bound(const char *text, double *out)
{
	if (!strcmp(text, "0") || !strcmp(text, "100")) {
		*out = text[1] ? 1 : 0;
		return true;
	}
	return !parse_percent(text, out);
}

bool recorded_slice_parse(const char *text, double *from, double *to)
{
	const char *colon = strchr(text, ':');
	char begin[32];
	double low, high;

	if (!colon || (size_t)(colon - text) >= sizeof(begin))
		return false;
	memcpy(begin, text, (size_t)(colon - text));
	begin[colon - text] = '\0';
	if (!parse_bound(begin, &low) || !parse_bound(colon + 1, &high))
		return false;
	*from = low;
	*to = high;
	return low < high;
}
