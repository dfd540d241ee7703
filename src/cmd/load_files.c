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

static void failed(struct load_file *f, int err)
{
	if (!err || f->error)
		return;
	f->error = err;
	log_error("cannot write the %s to %s: %s", f->what, f->path, folder_strerror(err));
}

static bool is_wanted(const struct load_file *f)
{
	return f->path && !f->error;
}

static void write_out(struct load_file *f)
{
	if (!f->error)
		failed(f, f->text.error ? f->text.error
					: outfile_write(&f->out, strbuf_str(&f->text),
							f->text.len));
	strbuf_reset(&f->text);
}

static int open_file(struct load_file *f, const char *path, const char *what)
{
	int err;

	*f = (struct load_file){ .path = path, .what = what, .text = STRBUF_INIT(TEXT_MAX) };
	err = path ? outfile_open(&f->out, path) : 0;
	failed(f, err);
	return err;
}

static void close_file(struct load_file *f)
{
	if (is_wanted(f))
		write_out(f);
	if (is_wanted(f))
		failed(f, outfile_commit(&f->out));
}

static void release_file(struct load_file *f)
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
	err = open_file(&files->samples, samples, "samples");
	strbuf_puts(&files->samples.text, SAMPLE_CSV_HEAD);
	if (!err)
		err = open_file(&files->log, hdr, "histograms");
	if (!err)
		err = open_file(&files->ccdf, ccdf, "CCDF");
	return !err && hdr ? hdr_init(&files->hdr) : err;
}

static void put_sample(struct load_files *f, const struct event_sample *s)
{
	sample_csv_put(&f->csv, s, &f->samples.text);
	if (f->samples.text.len >= TEXT_FULL)
		write_out(&f->samples);
}

/* ---- histograms ---- */

static void put_interval(struct load_files *f, uint64_t to_ns)
{
	struct load_file *log = &f->log;

	if (!f->from_ns || (!f->hdr.count && to_ns == f->from_ns))
		return;
	failed(log, hdr_log_line(&log->text, &f->hdr, f->from_ns - f->started_ns,
				 to_ns - f->from_ns));
	write_out(log);
	f->from_ns = to_ns;
}

/* All that ended before a tick was told before it. */
static void take_tick(struct load_files *f, const struct event *event)
{
	struct event_load load;

	event_copy(event, &load, sizeof(load));
	if (!f->from_ns && load.flags & LOAD_STARTED) {
		f->started_ns = f->from_ns = load.started_ns;
		hdr_log_head(&f->log.text, "hostlat", f->facts.started_ns);
	}
	if (f->from_ns && event->time >= f->from_ns + INTERVAL_NS)
		put_interval(f, event->time);
}

static void count_sample(struct load_files *f, const struct event_sample *s)
{
	uint64_t from = f->closed_loop ? s->sent : s->intended;

	/* With latency agents, the others' times are of the load, not of the measurement. */
	if (f->probes && !(s->flags & SAMPLE_PROBE))
		return;
	if (!(s->flags & SAMPLE_FAILED))
		hdr_record(&f->hdr, s->done > from ? s->done - from : 0);
}

/* ---- the stream ---- */

static void take_fact(struct load_files *f, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	run_facts_feed(&f->facts, key, value);
	if (!strcmp(key, "load.loop"))
		f->closed_loop = !strcmp(value, "closed");
	if (!strcmp(key, "load.probes"))
		f->probes = strcmp(value, "0") != 0;
}

static int take_records(struct load_files *f, const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	while (!err && event_block_next(block, &at, &event)) {
		if (event.kind == EV_FACT)
			take_fact(f, &event);
		else if (event.kind == EV_FLOW && is_wanted(&f->samples))
			err = sample_csv_take(&f->csv, &event);
		else if (event.kind == EV_LOAD && is_wanted(&f->log))
			take_tick(f, &event);
	}
	return err;
}

int load_files_take(struct load_files *files, const struct event_block *block)
{
	bool samples = is_wanted(&files->samples), log = is_wanted(&files->log);
	struct event_sample sample;

	if (block->kind == EV_NONE)
		return take_records(files, block);
	if (block->kind != EV_SAMPLE || (!samples && !log))
		return 0;
	for (uint32_t i = 0; i < block->count; i++) {
		event_block_copy(block, i, &sample, sizeof(sample));
		if (samples)
			put_sample(files, &sample);
		if (log)
			count_sample(files, &sample);
	}
	return 0;
}

void load_files_close(struct load_files *files, const struct load_analysis *analysis)
{
	if (is_wanted(&files->log) && files->hdr.count)
		put_interval(files, files->from_ns + INTERVAL_NS);
	close_file(&files->samples);
	close_file(&files->log);
	if (!analysis || !is_wanted(&files->ccdf))
		return;
	failed(&files->ccdf, load_analysis_ccdf(analysis, &files->ccdf.text));
	close_file(&files->ccdf);
}

void load_files_release(struct load_files *files)
{
	release_file(&files->samples);
	release_file(&files->log);
	release_file(&files->ccdf);
	hdr_release(&files->hdr);
	sample_csv_release(&files->csv);
}
