/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of topology and of applications' names that a user gives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/readfile.h"
#include "cmd/fleet_config.h"

#define TABLE_BYTES_MAX (256UL << 20)
#define WHY_MAX 4096u

typedef int fleet_table_fn(void *to, const char *file, char *text, size_t len, struct strbuf *why);

static int fleet_read_topology(void *to, const char *file, char *text, size_t len,
			       struct strbuf *why)
{
	return topology_read(to, file, text, len, why);
}

/* FNV-1a, for base/hash.h has another key in each process: this one is stored. Never 0. */
static uint64_t fleet_hash(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return (hash & INT64_MAX) ?: 1;
}

static int fleet_read_apps(void *to, const char *file, char *text, size_t len, struct strbuf *why)
{
	struct fleet_inputs *in = to;

	in->apps_hash = fleet_hash(text, len);
	return apps_read(in->apps, file, text, len, why);
}

/* Reports an error of a table. Returns the exit code. */
static int fleet_table_failed(const char *file, const struct strbuf *why, int err)
{
	if (err == -EINVAL)
		log_error("%s", strbuf_str(why));
	else if (err == -E2BIG)
		log_error("%s is larger than 256 MiB: is it the right file?", file);
	else
		log_error("cannot read %s: %s", file, strerror(-err));
	return EXIT_CANNOT;
}

/* Reads a table from a file. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
static int fleet_table(const char *file, fleet_table_fn *read, void *to)
{
	struct strbuf text = STRBUF_INIT(TABLE_BYTES_MAX), why = STRBUF_INIT(WHY_MAX);
	int err = readfile(file, &text), code = EXIT_OK;
	const size_t len = text.len;
	char *table;

	if (!err)
		strbuf_puts(&text, "");
	table = err ? NULL : len ? strbuf_detach(&text) : strdup("");
	if (!err && !table)
		err = -ENOMEM;
	if (!err)
		err = read(to, file, table, len, &why);
	if (err)
		code = fleet_table_failed(file, &why, err);
	free(table);
	strbuf_release(&text);
	strbuf_release(&why);
	return code;
}

int fleet_tables_read(const struct fleet_config *c, struct fleet_inputs *in)
{
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	int code = EXIT_OK, err;

	for (uint32_t i = 0; i < c->topology.len && code == EXIT_OK; i++)
		code = fleet_table(c->topology.items[i], fleet_read_topology, in->topology);
	err = code == EXIT_OK ? topology_finish(in->topology, &why) : 0;
	if (err)
		code = fleet_table_failed("--topology", &why, err);
	if (code == EXIT_OK && c->apps)
		code = fleet_table(c->apps, fleet_read_apps, in);
	strbuf_release(&why);
	return code;
}
