/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_files.h"

#include <errno.h>
#include <string.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/parse.h"

#define TEXT_MAX (1UL << 20)
#define TEXT_FULL (TEXT_MAX - (64UL << 10))
#define INTERVAL_NS NS_PER_S

/* ---- files ---- */

static void load_file_fail(struct load_file *f, int err)
{
	if (!err || f->error)
		return;
	f->error = err;
	log_error("cannot write the %s to %s: %s", f->what, f->path, folder_strerror(err));
}

static bool load_file_is_wanted(const struct load_file *f)
{
	return f->path && !f->error;
}

static void load_file_flush(struct load_file *f)
{
	if (!f->error)
		load_file_fail(f, f->text.error ? f->text.error
						: outfile_write(&f->out, strbuf_str(&f->text),
								f->text.len));
	strbuf_reset(&f->text);
}

static int load_file_open(struct load_file *f, const char *path, const char *what)
{
	int err;

	*f = (struct load_file){ .path = path, .what = what, .text = STRBUF_INIT(TEXT_MAX) };
	err = path ? outfile_open(&f->out, path) : 0;
	load_file_fail(f, err);
	return err;
}

static void load_file_close(struct load_file *f)
{
	if (load_file_is_wanted(f))
		load_file_flush(f);
	if (load_file_is_wanted(f))
		load_file_fail(f, outfile_commit(&f->out));
}

static void load_file_release(struct load_file *f)
{
	outfile_release(&f->out);
	strbuf_release(&f->text);
}

int load_files_open(struct load_files *files, const char *samples, const char *hdr,
		    const char *ccdf)
{
	int err;

	*files = (struct load_files){ .started_ns = 0 };
	sample_csv_init(&files->csv);
	err = load_file_open(&files->samples, samples, "samples");
	strbuf_puts(&files->samples.text, SAMPLE_CSV_HEAD);
	if (!err)
		err = load_file_open(&files->log, hdr, "histograms");
	if (!err)
		err = load_file_open(&files->ccdf, ccdf, "CCDF");
	return !err && hdr ? hdr_init(&files->hdr) : err;
}

static void load_files_put_sample(struct load_files *f, const struct event_sample *s)
{
	sample_csv_put(&f->csv, s, &f->samples.text);
	if (f->samples.text.len >= TEXT_FULL)
		load_file_flush(&f->samples);
}

/* ---- histograms ---- */

static void load_files_put_interval(struct load_files *f, uint64_t to_ns)
{
	struct load_file *log = &f->log;

	if (!f->from_ns || (!f->hdr.count && to_ns == f->from_ns))
		return;
	load_file_fail(log, hdr_log_line(&log->text, &f->hdr, f->from_ns - f->started_ns,
					 to_ns - f->from_ns));
	load_file_flush(log);
	f->from_ns = to_ns;
}

/*
 * Handles an EV_LOAD (the generator's counters, every 100 ms): writes the histogram of each second.
 * It is complete then: all requests that ended before an EV_LOAD precede it in the event stream.
 */
static void load_files_tick(struct load_files *f, const struct event *event)
{
	struct event_load load;

	event_copy(event, &load, sizeof(load));
	if (!f->from_ns && load.flags & LOAD_STARTED) {
		f->started_ns = f->from_ns = load.started_ns;
		hdr_log_head(&f->log.text, "hostlat", f->facts.started_ns);
	}
	if (f->from_ns && event->time >= f->from_ns + INTERVAL_NS)
		load_files_put_interval(f, event->time);
}

static void load_files_count_sample(struct load_files *f, const struct event_sample *s)
{
	uint64_t from = f->closed_loop ? s->sent : s->intended;

	/* If there are latency agents, requests of other agents are not measured. */
	if (f->probes && !(s->flags & SAMPLE_PROBE))
		return;
	if (!(s->flags & SAMPLE_FAILED))
		hdr_record(&f->hdr, s->done > from ? s->done - from : 0);
}

/* ---- the stream ---- */

static void load_files_fact(struct load_files *f, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	run_facts_feed(&f->facts, key, value);
	if (!strcmp(key, "load.loop"))
		f->closed_loop = !strcmp(value, "closed");
	if (!strcmp(key, "load.probes"))
		f->probes = strcmp(value, "0") != 0;
}

static int load_files_records(struct load_files *f, const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	while (!err && event_block_next(block, &at, &event)) {
		if (event.kind == EV_FACT)
			load_files_fact(f, &event);
		else if (event.kind == EV_FLOW && load_file_is_wanted(&f->samples))
			err = sample_csv_add_flow(&f->csv, &event);
		else if (event.kind == EV_LOAD && load_file_is_wanted(&f->log))
			load_files_tick(f, &event);
	}
	return err;
}

int load_files_add(struct load_files *files, const struct event_block *block)
{
	bool samples = load_file_is_wanted(&files->samples), log = load_file_is_wanted(&files->log);
	struct event_sample sample;

	if (block->kind == EV_NONE)
		return load_files_records(files, block);
	if (block->kind != EV_SAMPLE || (!samples && !log))
		return 0;
	for (uint32_t i = 0; i < block->count; i++) {
		event_block_copy(block, i, &sample, sizeof(sample));
		if (samples)
			load_files_put_sample(files, &sample);
		if (log)
			load_files_count_sample(files, &sample);
	}
	return 0;
}

void load_files_close(struct load_files *files, const struct load_analysis *analysis)
{
	if (load_file_is_wanted(&files->log) && files->hdr.count)
		load_files_put_interval(files, files->from_ns + INTERVAL_NS);
	load_file_close(&files->samples);
	load_file_close(&files->log);
	if (!analysis || !load_file_is_wanted(&files->ccdf))
		return;
	load_file_fail(&files->ccdf, load_analysis_ccdf(analysis, &files->ccdf.text));
	load_file_close(&files->ccdf);
}

void load_files_release(struct load_files *files)
{
	load_file_release(&files->samples);
	load_file_release(&files->log);
	load_file_release(&files->ccdf);
	hdr_release(&files->hdr);
	sample_csv_release(&files->csv);
}
