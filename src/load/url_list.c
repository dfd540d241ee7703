/* SPDX-License-Identifier: Apache-2.0 */
#include "load/url_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/readfile.h"
#include "load/protocol.h"

#define FILE_MAX (16UL << 20)
#define BLANKS " \t\r"

/* ---- targets ---- */

/* Returns the size of a URL of HTTP without its path. */
static size_t url_list_server_size(const char *url, const struct target *target)
{
	const char *rest = strstr(url, "://") + 3;
	const char *colon = target->unix_socket ? strstr(rest, ":/") : NULL;

	if (target->unix_socket && strncasecmp(rest, "%2F", 3) != 0)
		return colon ? (size_t)(colon - url) : strlen(url);
	return (size_t)(rest - url) + strcspn(rest, "/?#");
}

static bool url_list_is_same_server(const char *a, const char *b, const struct target *target)
{
	const size_t size = url_list_server_size(a, target);

	return size == url_list_server_size(b, target) && !strncmp(a, b, size);
}

/* Finds or adds the target of a URL. Returns 0, or -E2BIG if there are too many. */
static int url_list_assign(struct url_list *list, const struct target *target, bool merges,
			   struct url_entry *entry)
{
	uint32_t i = merges && target->protocol->http ? 0 : list->n_targets;

	while (i < list->n_targets &&
	       !url_list_is_same_server(list->targets[i].url, entry->url, target))
		i++;
	if (i == LOAD_TARGETS_MAX)
		return -E2BIG;
	if (i == list->n_targets)
		list->targets[list->n_targets++] = (struct url_target){ .url = entry->url };
	list->targets[i].weight += entry->weight;
	list->targets[i].n_urls++;
	entry->target = i;
	return 0;
}

/* ---- the file ---- */

struct url_lines {
	struct url_list *list;
	const char *name;
	unsigned int number;
	const struct protocol *protocol; /* protocol of the first URL */
	struct strbuf *why;
};

static int url_lines_refuse(struct url_lines *l, const char *text)
{
	strbuf_printf(l->why, "--urls %s, line %u: %s", l->name, l->number, text);
	return -EINVAL;
}

/* Parses the URL of a line, with the line's number before an error. */
static int url_lines_target(struct url_lines *l, const char *url, struct target *target)
{
	struct strbuf why = STRBUF_INIT(4096);
	int err = target_parse(url, target, &why);

	if (err)
		url_lines_refuse(l, strbuf_str(&why));
	strbuf_release(&why);
	return err;
}

static int url_lines_add(struct url_lines *l, char *line)
{
	struct url_list *list = l->list;
	struct url_entry entry = { .weight = 1 };
	struct target target;
	char *weight;
	size_t n;
	int err;

	line += strspn(line, BLANKS);
	n = strlen(line);
	while (n && strchr(BLANKS, line[n - 1]))
		line[--n] = '\0';
	if (!*line || *line == '#')
		return 0;
	entry.url = line;
	weight = line + strcspn(line, BLANKS);
	if (*weight) {
		*weight++ = '\0';
		weight += strspn(weight, BLANKS);
		if (parse_rate(weight, &entry.weight))
			return url_lines_refuse(l, "the weight after the URL must be a number "
						   "above 0");
	}
	err = url_lines_target(l, line, &target);
	if (err)
		return err;
	l->protocol = l->protocol ? l->protocol : target.protocol;
	if (l->protocol != target.protocol)
		return url_lines_refuse(l, "all URLs of the file must have the same scheme");
	if (list->n == URL_LIST_MAX)
		return url_lines_refuse(l, "the file has more than 10000 URLs");
	if (url_list_assign(list, &target, true, &entry))
		return url_lines_refuse(l, "the file has more than 64 servers");
	list->items[list->n++] = entry;
	return 0;
}

static int url_list_parse(struct url_list *list, const char *name, const char *text, size_t size,
			  struct strbuf *why)
{
	struct url_lines lines = { .list = list, .name = name, .why = why };
	char *rest, *line;
	int err = 0;

	_Static_assert(URL_LIST_MAX == 10000 && LOAD_TARGETS_MAX == 64, "the words say so");
	*list = (struct url_list){ 0 };
	if (strlen(text) != size) {
		strbuf_printf(why, "--urls %s: this is not a text file: it contains a zero byte",
			      name);
		return -EINVAL;
	}
	list->items = calloc(URL_LIST_MAX, sizeof(*list->items));
	/* Skip a byte order mark (UTF-8). */
	list->text = rest = strdup(strncmp(text, "\xef\xbb\xbf", 3) ? text : text + 3);
	if (!list->items || !list->text)
		return -ENOMEM;
	while (!err && (line = strsep(&rest, "\n")) != NULL) {
		lines.number++;
		err = url_lines_add(&lines, line);
	}
	if (!err && !list->n) {
		strbuf_printf(why, "--urls %s: the file has no URL", name);
		err = -EINVAL;
	}
	return err;
}

static int url_list_read(struct url_list *list, const char *file, struct strbuf *why)
{
	struct strbuf text = STRBUF_INIT(FILE_MAX);
	int err = readfile(file, &text);

	err = err == -E2BIG ? -EFBIG : err;
	if (err)
		strbuf_printf(why, "--urls %s: %s", file, strerror(-err));
	else
		err = url_list_parse(list, file, strbuf_str(&text), text.len, why);
	strbuf_release(&text);
	return err;
}

/* ---- any list ---- */

int url_list_make(struct url_list *list, const char *const *urls, uint32_t n, const char *file,
		  struct strbuf *why)
{
	int err = 0;

	*list = (struct url_list){ 0 };
	if (file)
		return url_list_read(list, file, why);
	list->items = calloc(n + 1, sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++) {
		struct url_entry *entry = &list->items[list->n++];
		struct target target;

		*entry = (struct url_entry){ .url = urls[i], .weight = 1 };
		err = target_parse(urls[i], &target, why);
		if (!err)
			err = url_list_assign(list, &target, false, entry);
	}
	return err;
}

void url_list_release(struct url_list *list)
{
	free(list->items);
	free(list->text);
	*list = (struct url_list){ 0 };
}

void url_list_put_target(const struct url_list *list, uint32_t i, struct strbuf *out)
{
	const struct url_target *t = &list->targets[i];
	struct strbuf unused = STRBUF_INIT(4096);
	struct target target;

	if (t->n_urls > 1 && !target_parse(t->url, &target, &unused))
		strbuf_add(out, t->url, url_list_server_size(t->url, &target));
	else
		strbuf_puts(out, t->url);
	strbuf_release(&unused);
}
