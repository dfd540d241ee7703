/* SPDX-License-Identifier: Apache-2.0 */
#include "load/workload_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"

/* Removes surrounding blanks, then one pair of quotes. */
static char *workload_file_trim(char *text)
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

/* Removes a comment: "#" at the start of a line or after a blank. */
static void cut_comment(char *line)
{
	char *p = line;

	while ((p = strchr(p, '#')) && p != line && !strchr(BLANKS, p[-1]))
		p++;
	if (p)
		*p = '\0';
}

/* Returns whether text begins like a YAML mapping, anchor, tag, block or list, not like "-1". */
static bool is_yaml_only(const char *text)
{
	return strchr("[]{}&*!|>?", *text) || (*text == '-' && strchr(" \t", text[1]));
}

static int workload_file_parse_line(struct workload_settings *settings, char *line,
				    const char *where, struct strbuf *why)
{
	char *name, *value = NULL;
	size_t at;

	cut_comment(line);
	at = strcspn(line, ":=");
	if (line[at]) {
		line[at] = '\0';
		value = workload_file_trim(line + at + 1);
	}
	name = workload_file_trim(line);
	if (!value && (!*name || (!strcmp(name, "---") && !settings->workload->given)))
		return 0;
	if (value && *value && *name && !is_yaml_only(value) && !is_yaml_only(name))
		return workload_set(settings, name, value, where, why);
	strbuf_printf(why, "workload: %seach line must be 'key: value' or 'key = value'; other "
		      "YAML is not supported", where);
	return -EINVAL;
}

int workload_file_parse(struct workload_settings *settings, const char *name, const char *text,
			size_t size, struct strbuf *why)
{
	struct strbuf where = STRBUF_INIT(4096);
	char *copy, *rest, *line;
	unsigned int number = 0;
	int err = 0;

	if (strlen(text) != size) {
		strbuf_printf(why, "workload: %s is not a text file: it contains a zero byte",
			      name);
		return -EINVAL;
	}
	/* Skip a byte order mark (UTF-8). */
	copy = rest = strdup(strncmp(text, "\xef\xbb\xbf", 3) ? text : text + 3);
	err = copy ? 0 : -ENOMEM;
	while (!err && (line = strsep(&rest, "\n")) != NULL) {
		strbuf_reset(&where);
		strbuf_printf(&where, "%s, line %u: ", name, ++number);
		err = workload_file_parse_line(settings, line, strbuf_str(&where), why);
	}
	strbuf_release(&where);
	free(copy);
	if (!err && !settings->workload->given) {
		strbuf_printf(why, "workload: %s: the file has no settings", name);
		return -EINVAL;
	}
	return err;
}
