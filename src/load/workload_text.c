/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a workload: a name, inline settings, or a file with one setting per line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/readfile.h"
#include "load/workload.h"
#include "load/workload_file.h"
#include "load/workload_set.h"

#define FILE_MAX 65536

static int parse_inline(struct workload_settings *settings, char *text, struct strbuf *why)
{
	char *item;
	int err = 0;

	for (bool first = true; !err && (item = strsep(&text, ",")) != NULL; first = false) {
		char *value = strchr(item, '=');

		if (!value && first) {
			err = workload_set(settings, "base", item, "", why);
		} else if (!value) {
			strbuf_printf(why, "workload: '%s' must be KEY=VALUE", item);
			err = -EINVAL;
		} else {
			*value++ = '\0';
			err = workload_set(settings, item, value, "", why);
		}
	}
	return err;
}

static int parse_file(struct workload_settings *settings, const char *name, struct strbuf *why)
{
	struct strbuf text = STRBUF_INIT(FILE_MAX);
	struct nearest nearest;
	int err = readfile(name, &text);

	err = err == -E2BIG ? -EFBIG : err;
	if (!err) {
		err = workload_file_parse(settings, name, strbuf_str(&text), text.len, why);
	} else {
		nearest_init(&nearest, name);
		nearest_offer(&nearest, "etc");
		nearest_offer(&nearest, "usr");
		strbuf_printf(why, "workload: '%s': %s: use etc, usr, KEY=VALUE,... or a file",
			      name, strerror(-err));
		if (nearest.best)
			strbuf_printf(why, " (did you mean %s?)", nearest.best);
		/* Without '.' or '/', a workload's name was probably meant: a usage error. */
		err = err == -ENOENT && !strpbrk(name, "./") ? -EINVAL : err;
	}
	strbuf_release(&text);
	return err;
}

/*
 * Returns whether the text is a workload's name or inline settings, not a file's name: in "key=..."
 * and "NAME,...", no '/' may come before the '=' or ','.
 */
static bool is_inline(const char *text)
{
	const char *equals = strchr(text, '='), *comma = strchr(text, ',');
	const char *slash = strchr(text, '/');
	const char *mark = equals ? equals : comma;

	if (comma && mark && comma < mark)
		mark = comma;
	return workload_is_named(text) || (mark && (!slash || mark < slash));
}

int workload_parse(struct workload *out, const char *text, const struct target *target,
		   struct strbuf *why)
{
	struct workload_settings settings;
	char *copy;
	int err = 0;

	workload_settings_init(&settings, out);
	if (text && is_inline(text)) {
		copy = strdup(text);
		err = copy ? parse_inline(&settings, copy, why) : -ENOMEM;
		free(copy);
	} else if (text) {
		err = parse_file(&settings, text, why);
	}
	if (!err)
		err = workload_finish(out, target, why);
	if (err)
		workload_release(out);
	return err;
}
