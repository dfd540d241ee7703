/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_metrics.h"

#include <errno.h>
#include <string.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/outfile.h"
#include "conns/app_metrics.h"
#include "output/openmetrics.h"

#define PAGE_MAX (64u << 20)
#define PAGE_MODE 0644 /* node_exporter reads it as another user */

/* The textfile collector of node_exporter reads files of this name only. */
static enum openmetrics_form conns_metrics_form(const char *path)
{
	const size_t len = strlen(path);

	return len > 5 && !strcmp(path + len - 5, ".prom") ? OPENMETRICS_PROMETHEUS :
							      OPENMETRICS_1_0;
}

/*
 * Puts the page in its place without waiting for the disk, for which the measurement must not wait;
 * a device or a pipe has no place.
 */
static int conns_metrics_put(const char *path, const struct strbuf *page)
{
	struct outfile file = { 0 };
	int err = page->error ? page->error : outfile_open_mode(&file, path, PAGE_MODE);

	if (!err)
		err = outfile_write(&file, strbuf_str(page), page->len);
	if (!err)
		err = file.name ? outfile_publish(&file) : outfile_commit(&file);
	outfile_release(&file);
	return err;
}

static int conns_metrics_write(struct conns_metrics *metrics, const struct conns *c)
{
	struct strbuf page = STRBUF_INIT(PAGE_MAX);
	struct metrics m;
	int err;

	metrics_init(&m);
	app_metrics_add(&metrics->counters, c, &m);
	openmetrics_put(&m, conns_metrics_form(metrics->path), &page);
	err = m.error ? m.error : conns_metrics_put(metrics->path, &page);
	if (err && !metrics->failed)
		log_error("cannot write the metrics to %s: %s", metrics->path,
			  folder_strerror(err));
	metrics->failed = err;
	metrics->written_ns = metrics->counters.now_ns;
	metrics_release(&m);
	strbuf_release(&page);
	return err;
}

int conns_metrics_open(struct conns_metrics *metrics, const char *path, uint32_t apps,
		       struct conns *c, bool live)
{
	int err;

	*metrics = (struct conns_metrics){ .path = path, .live = live };
	if (!path)
		return 0;
	err = app_counters_init(&metrics->counters, apps);
	if (err)
		log_error("out of memory");
	else if (live)
		err = conns_metrics_write(metrics, c);
	return err;
}

void conns_metrics_release(struct conns_metrics *metrics)
{
	app_counters_release(&metrics->counters);
}

int conns_metrics_interval(struct conns_metrics *metrics, struct conns *c)
{
	int err = metrics->path ? app_counters_interval(&metrics->counters, c) : 0;

	if (!err && metrics->live &&
	    metrics->counters.now_ns - metrics->written_ns >= CONNS_METRICS_NS)
		conns_metrics_write(metrics, c);
	return err;
}

int conns_metrics_close(struct conns_metrics *metrics, const struct conns *c, bool complete)
{
	if (!metrics->path)
		return 0;
	if (complete)
		app_counters_finish(&metrics->counters);
	return conns_metrics_write(metrics, c);
}
