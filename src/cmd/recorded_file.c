/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/recorded_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/parse.h"
#include "cmd/cmd.h"

#define MAGIC_MAX 8

#define NONE "it is not a hostlat recording"

static const struct {
	const char *magic, *why;
} formats[] = {
	{ "\x1f\x8b", NONE " but a file of gzip (unpack it first)" },
	{ "\x28\xb5\x2f\xfd", NONE " but a file of zstd (unpack it first)" },
	{ "\xfd" "7zXZ", NONE " but a file of xz (unpack it first)" },
	{ "PERFILE2", NONE " but a recording of perf" },
	{ "\xd4\xc3\xb2\xa1", NONE " but a capture of tcpdump" },
	{ "\x4d\x3c\xb2\xa1", NONE " but a capture of tcpdump" },
	{ "\x0a\x0d\x0d\x0a", NONE " but a capture of tcpdump" },
	{ "{", NONE " but JSON (hostlat report shows results in JSON)" },
};

static const char *recorded_file_foreign_format(const char *path)
{
	char begin[MAGIC_MAX + 1] = "";
	struct stat st;
	/* Skip pipes: a pipe cannot be read twice, and opening it again may block forever. */
	FILE *file = !stat(path, &st) && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
	const size_t size = file ? fread(begin, 1, MAGIC_MAX, file) : 0;

	if (file)
		fclose(file);
	for (size_t i = 0; size && i < ARRAY_LEN(formats); i++) {
		if (!strncmp(begin, formats[i].magic, strlen(formats[i].magic)))
			return formats[i].why;
	}
	return NONE;
}

const char *recorded_file_why(const char *path, int err)
{
	if (err == -EPROTONOSUPPORT)
		return "it was recorded by a newer version of hostlat, or in another byte order";
	return err == -ENOEXEC ? recorded_file_foreign_format(path) : strerror(-err);
}

struct event_reader *recorded_file_open(const char *path)
{
	struct event_reader *reader;
	int err = event_reader_open(&reader, path);

	if (!err)
		return reader;
	log_error("cannot read %s: %s", path, recorded_file_why(path, err));
	return NULL;
}

static bool recorded_file_has(struct event_reader *reader, uint16_t kind)
{
	uint32_t core;

	return event_reader_cores(reader, kind, &core, 1) > 0;
}

const char *recorded_file_words(const char *path)
{
	static const struct {
		uint16_t kind;
		const char *words;
	} readers[] = {
		{ EV_MESSAGE, "diagnose" }, { EV_CONN, "conns --from" },
		{ EV_SAMPLE, "load --from" },
	};
	const char *words = "watch --from";
	struct event_reader *reader;

	if (event_reader_open(&reader, path))
		return words;
	for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
		if (recorded_file_has(reader, readers[i].kind)) {
			words = readers[i].words;
			break;
		}
	}
	event_reader_free(reader);
	return words;
}

static int recorded_file_is_of_watch(void *ctx, const struct event *event)
{
	(void)ctx;
	return event->kind == EV_BINDING || event->kind == EV_HIST;
}

bool recorded_file_is_of(const char *path, uint16_t kind)
{
	struct event_reader *reader;
	struct stat st;
	bool conns, watch, load;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || event_reader_open(&reader, path))
		return true;
	conns = recorded_file_has(reader, EV_CONN);
	watch = recorded_file_events(reader, recorded_file_is_of_watch, NULL) > 0;
	load = recorded_file_has(reader, EV_SAMPLE);
	event_reader_free(reader);
	if ((kind == EV_CONN ? conns : watch) || !(conns || watch || load))
		return true;
	log_error("%s is a recording of another command: use hostlat %s %s", path,
		  recorded_file_words(path), path);
	return false;
}

void recorded_file_failed(const char *path, const char *verb, int err)
{
	if (err == -ESPIPE)
		log_error("%s is a pipe, and it must be read twice: save it to a file first", path);
	else if (err == -E2BIG)
		log_error("%s has more CPUs than hostlat can diagnose", path);
	else
		log_error("cannot %s %s: %s", verb, path, strerror(-err));
}

int recorded_file_read(const char *path, int (*feed)(void *ctx, const struct event_block *block),
		       void *ctx, struct event_damage *damage)
{
	struct event_reader *reader = recorded_file_open(path);
	struct event_block block;
	int err;

	if (!reader)
		return EXIT_CANNOT;
	while ((err = event_source_next(event_reader_source(reader), &block)) > 0) {
		err = feed(ctx, &block);
		if (err)
			break;
	}
	event_source_damage(event_reader_source(reader), damage);
	event_reader_free(reader);
	if (err < 0 && err != -ECANCELED) /* already logged */
		log_error("cannot read %s: %s", path, strerror(-err));
	return err < 0 ? EXIT_CANNOT : EXIT_OK;
}

int recorded_file_events(struct event_reader *reader,
			 int (*feed)(void *ctx, const struct event *event), void *ctx)
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
			err = feed(ctx, &event);
	}
	return err;
}

/* Parses a percentile, 0 and 100 included, into 0..1. Returns false for anything else. */
static bool recorded_slice_parse_bound(const char *text, double *out)
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
	if (!recorded_slice_parse_bound(begin, &low) ||
	    !recorded_slice_parse_bound(colon + 1, &high))
		return false;
	*from = low;
	*to = high;
	return low < high;
}
