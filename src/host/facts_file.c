/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "host/facts_source.h"

/* Returns true if a fact does not exist: the file is missing, or its driver does not support it. */
static bool fact_is_absent(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -EOPNOTSUPP || err == -ENODEV ||
	       err == -EINVAL;
}

static void fact_add_file(const struct fact_source *source, const char *key, const char *path)
{
	char value[HOST_FACT_VALUE_MAX];
	int n = host_read(value, sizeof(value), "%s", path);

	if (n >= 0)
		/* "none": the file is empty, or "(null)", a mask that was never allocated. */
		host_facts_add(source->facts, key, "%s",
			       n && strcmp(value, "(null)") ? value : "none");
	else if (!fact_is_absent(n))
		host_facts_add_unknown(source->facts, key, path, n);
}

void fact_proc(const struct fact_source *source, const char *key, const char *arg)
{
	char path[HOST_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", source->root->proc, arg);
	fact_add_file(source, key, path);
}

void fact_sysctl(const struct fact_source *source, const char *key, const char *arg)
{
	char path[HOST_PATH_MAX], name[HOST_FACT_KEY_MAX];

	(void)arg;
	snprintf(name, sizeof(name), "%s", key);
	for (char *dot = name; (dot = strchr(dot, '.'));)
		*dot = '/';
	snprintf(path, sizeof(path), "%s/sys/%s", source->root->proc, name);
	fact_add_file(source, key, path);
}

void fact_sys(const struct fact_source *source, const char *key, const char *arg)
{
	char path[HOST_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", source->root->sys, arg);
	fact_add_file(source, key, path);
}

void fact_sys_choice(const struct fact_source *source, const char *key, const char *arg)
{
	char value[HOST_PATH_MAX], *from, *to = NULL;
	int n = host_read(value, sizeof(value), "%s/%s", source->root->sys, arg);

	if (n < 0) {
		fact_sys(source, key, arg);
		return;
	}
	from = strchr(value, '[');
	if (from)
		to = strchr(from, ']');
	if (to)
		host_facts_add(source->facts, key, "%.*s", (int)(to - from - 1), from + 1);
	else
		host_facts_add(source->facts, key, "%s", value);
}

#define EACH_MAX 16384  /* files, at most: one for each processor that a kernel can have */

struct each_value {
	const char *sys, *folder, *prefix, *file;
	struct strbuf values;
	int err;
};

/* Returns true if `value` is in the comma-separated `list`. */
static bool fact_is_listed(const char *list, const char *value)
{
	size_t n = strlen(value);

	for (const char *at = list; (at = strstr(at, value)); at += n)
		if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

static int fact_visit_value(void *ctx, const char *name)
{
	struct each_value *each = ctx;
	char value[128];
	int n;

	if (strncmp(name, each->prefix, strlen(each->prefix)))
		return 0;
	n = host_read(value, sizeof(value), "%s/%s/%s/%s", each->sys, each->folder, name,
		      each->file);
	if (n > 0 && !fact_is_listed(strbuf_str(&each->values), value))
		strbuf_printf(&each->values, "%s%s", each->values.len ? ", " : "", value);
	else if (n < 0)
		each->err = n;
	return 0;
}

void fact_sys_each(const struct fact_source *source, const char *key, const char *arg)
{
	struct each_value each = { .sys = source->root->sys, .values = STRBUF_INIT(1024) };
	char copy[HOST_PATH_MAX], *rest = copy;

	snprintf(copy, sizeof(copy), "%s", arg);
	each.folder = strsep(&rest, ":");
	each.prefix = strsep(&rest, ":");
	each.file = rest;
	host_each_entry(fact_visit_value, &each, EACH_MAX, "%s/%s", each.sys, each.folder);
	if (each.values.len)
		host_facts_add(source->facts, key, "%s", strbuf_str(&each.values));
	else if (each.err && !fact_is_absent(each.err))
		host_facts_add_unknown(source->facts, key, each.file, each.err);
	strbuf_release(&each.values);
}
