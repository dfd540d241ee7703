/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/compare_readers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/explain_conns.h"
#include "cmd/explain_result.h"
#include "cmd/recorded_file.h"
#include "cmd/run_facts.h"
#include "conns/conns.h"

/*
 * Returns a reader of the file. Returns NULL if the file is missing but not `needed`, or if reading
 * fails: *err is set, after a message.
 */
static struct event_reader *compare_readers_open_in(const char *folder, const char *name,
						    bool needed, int *err)
{
	struct event_reader *reader;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!needed && access(path, F_OK))
		return NULL;
	reader = recorded_file_open(path);
	if (!reader)
		*err = -EIO;
	return reader;
}

static int compare_readers_open_folder(struct compare_readers *r, const char *path)
{
	int err = 0;

	r->folder = true;
	r->host = compare_readers_open_in(path, EXPLAIN_SERVER, true, &err);
	if (!err)
		r->load = compare_readers_open_in(path, EXPLAIN_CLIENT, true, &err);
	if (!err)
		r->conns = compare_readers_open_in(path, EXPLAIN_CONNS, false, &err);
	if (err)
		return err;
	err = conns_scope_read(&r->scope, r->host, r->load);
	if (!err)
		err = run_facts_read_pid(r->load, &r->hostlat.load);
	if (!err && r->conns)
		err = run_facts_read_pid(r->conns, &r->hostlat.conns);
	if (err < 0)
		recorded_file_failed(path, "compare", err);
	return err;
}

/* Finds out from the recorded facts which command made the recording. */
static int compare_readers_feed(void *ctx, const struct event *event)
{
	struct compare_readers *r = ctx;
	const char *key, *value;

	if (event->kind != EV_FACT)
		return 0;
	event_fact_get(event, &key, &value);
	if (!strncmp(key, "load.", 5))
		r->load = r->host;
	if (!strcmp(key, CONNS_FACT_BUDGET_LOW))
		r->conns = r->host;
	return 0;
}

int compare_readers_open(struct compare_readers *r, const char *path)
{
	struct stat st;
	int err;

	*r = (struct compare_readers){ 0 };
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return compare_readers_open_folder(r, path);
	r->host = recorded_file_open(path);
	if (!r->host)
		return -EIO;
	err = recorded_file_events(r->host, compare_readers_feed, r);
	if (err < 0)
		recorded_file_failed(path, "compare", err);
	return err < 0 ? err : 0;
}

void compare_readers_release(struct compare_readers *r)
{
	event_reader_free(r->host);
	if (r->folder) {
		event_reader_free(r->load);
		event_reader_free(r->conns);
	}
	*r = (struct compare_readers){ 0 };
}
