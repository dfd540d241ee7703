/* SPDX-License-Identifier: Apache-2.0 */
/* A workload from what was typed: a name, settings in one line, or a file with one in each line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invoker.h"
#include "base/nearest.h"
#include "load/workload.h"
#include "load/workload_set.h"
#include "load/workload_text.h"

#define FILE_MAX 65536
#define BLANKS " \t\r"

static int parse_inline(struct workload_settings *settings, char *text, struct strbuf *why)
{
	char *item;
	int err = 0;

	for (bool first = true; !err && (item = strsep(&text, ",")) != NULL; first = false) {
		char *value = strchr(item, '=');

		if (!value && first) {
			err = workload_set(settings, "base", item, "", why);
		} else if (!value) {
			strbuf_printf(why, "workload: '%s' takes KEY=VALUE", item);
			err = -EINVAL;
		} else {
			*value++ = '\0';
			err = workload_set(settings, item, value, "", why);
		}
	}
	return err;
}

/* Without the blanks around it, and then without a pair of quotes. */
static char *trim(char *text)
{
	size_t n;

	text += strspn(text, BLANKS);
	n = strlen(text);
	while (n && strchr(BLANKS, text[n - 1]))
		n--;
	if (n > 1 && (*text == '"' || *text == '\'') && text[n - 1] == *text) {
		text++;
		n -= 2;
	}
	text[n] = '\0';
	return text;
}

/* "#" begins a comment at the begin of a line and after a blank. */
static void cut_comment(char *line)
{
	char *p = line;

	while ((p = strchr(p, '#')) && p != line && !strchr(BLANKS, p[-1]))
		p++;
	if (p)
		*p = '\0';
}

/* What YAML's lists, mappings, anchors, tags and blocks begin with. */
#define YAML_ONLY "[]{}&*!|>?-"

static int parse_line(struct workload_settings *settings, char *line, const char *where,
		      struct strbuf *why)
{
	char *name, *value = NULL;
	size_t at;

	cut_comment(line);
	at = strcspn(line, ":=");
	if (line[at]) {
		line[at] = '\0';
		value = trim(line + at + 1);
	}
	name = trim(line);
	if (!value && (!*name || (!strcmp(name, "---") && !settings->workload->given)))
		return 0;
	if (value && *value && *name && !strchr(YAML_ONLY, *value) && !strchr(YAML_ONLY, *name))
		return workload_set(settings, name, value, where, why);
	strbuf_printf(why, "workload: %stakes 'key: value' or 'key = value' in each line, and of "
		      "YAML no more than that", where);
	return -EINVAL;
}

int workload_text_parse(struct workload_settings *settings, const char *name, char *text,
			size_t size, struct strbuf *why)
{
	struct strbuf where = STRBUF_INIT(4096);
	unsigned int number = 0;
	char *line;
	int err = 0;

	if (strlen(text) != size) {
		strbuf_printf(why, "workload: %s holds a zero byte: it is no text", name);
		return -EINVAL;
	}
	while (!err && (line = strsep(&text, "\n")) != NULL) {
		strbuf_reset(&where);
		strbuf_printf(&where, "%s, line %u: ", name, ++number);
		err = parse_line(settings, line, strbuf_str(&where), why);
	}
	strbuf_release(&where);
	if (!err && !settings->workload->given) {
		strbuf_printf(why, "workload: %s: there is no setting in it", name);
		return -EINVAL;
	}
	return err;
}

/* Into `text`; its size, or -errno. */
static ssize_t read_file(const char *name, char *text, size_t cap)
{
	int fd = invoker_open(name, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n = 1;
	int err;

	if (fd < 0)
		return fd;
	while (n && size < cap) {
		n = read(fd, text + size, cap - size);
		if (n < 0 && errno != EINTR)
			break;
		size += n > 0 ? (size_t)n : 0;
	}
	err = n < 0 ? -errno : size == cap ? -EFBIG : 0;
	close(fd);
	return err ? err : (ssize_t)size;
}

static int parse_file(struct workload_settings *settings, const char *name, struct strbuf *why)
{
	char *text = malloc(FILE_MAX);
	struct nearest nearest;
	ssize_t size;
	int err;

	if (!text)
		return -ENOMEM;
	size = read_file(name, text, FILE_MAX);
	if (size >= 0) {
		text[size] = '\0';
		err = workload_text_parse(settings, name, text, (size_t)size, why);
	} else {
		/* A word that could be no name of a file was meant as one of the names. */
		err = size == -ENOENT && !strpbrk(name, "./") ? -EINVAL : (int)size;
		nearest_init(&nearest, name);
		nearest_offer(&nearest, "etc");
		nearest_offer(&nearest, "usr");
		strbuf_printf(why, "workload: '%s': %s: takes etc, usr, KEY=VALUE,... or a file",
			      name, strerror((int)-size));
		if (nearest.best)
			strbuf_printf(why, " (did you mean %s?)", nearest.best);
	}
	free(text);
	return err;
}

/* A folder's name may hold a '=', a key can't hold a '/'. */
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
