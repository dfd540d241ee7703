/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/parse.h"
#include "report/human.h"

#define TEXT_MAX (1UL << 20)
#define TEXT_FULL (TEXT_MAX - (64UL << 10))
#define INTERVAL_NS NS_PER_S
#define FLOW_AGENT(id) ((id) >> 26)
#define FLOW_NUMBER(id) ((id) & 0x3ffffffU)

static const char heads[] =
	"intended_ns,sent_ns,sched_ns,snd_ns,ack_ns,server_in_ns,server_out_ns,rx_ns,wake_ns,"
	"done_ns,tx_bytes,rx_bytes,tx_offset,rx_offset,netns,local,remote,type,status,flags\n";

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
	for (int i = 0; i < LOAD_AGENTS_MAX; i++)
		vec_init(&files->flows[i], LOAD_FLOWS_MAX);
	err = open_file(&files->samples, samples, "samples");
	strbuf_puts(&files->samples.text, heads);
	if (!err)
		err = open_file(&files->log, hdr, "histograms");
	if (!err)
		err = open_file(&files->ccdf, ccdf, "CCDF");
	return !err && hdr ? hdr_init(&files->hdr) : err;
}

/* ---- flows ---- */

/* 0, -ENOMEM, or -E2BIG: there are as many as may be. */
static int add_places(struct load_files *f, struct load_flows *flows, uint32_t len)
{
	const uint32_t more = len - (uint32_t)flows->len;
	int err = more > LOAD_FLOWS_MAX - f->n_flows ? -E2BIG : vec_reserve(flows, len);

	if (err)
		return err;
	memset(&flows->items[flows->len], 0, more * sizeof(flows->items[0]));
	flows->len = len;
	f->n_flows += more;
	return 0;
}

static int take_flow(struct load_files *f, const struct event *event)
{
	struct event_flow flow;
	struct load_flows *flows;
	uint32_t n;
	int err;

	event_copy(event, &flow, sizeof(flow));
	flows = &f->flows[FLOW_AGENT(flow.id)];
	n = FLOW_NUMBER(flow.id);
	err = n < flows->len ? 0 : add_places(f, flows, n + 1);
	if (err == -E2BIG) {
		f->flows_full = true;
		return 0;
	}
	if (!err)
		flows->items[n] = flow;
	return err;
}

static void put_address(struct strbuf *out, const struct event_flow *flow, const void *address,
			uint16_t port)
{
	char text[HUMAN_ADDRESS_MAX];

	if (human_address(text, flow->family, address, port))
		strbuf_puts(out, text);
}

static void put_flow(struct load_files *f, uint32_t id)
{
	static const struct event_flow unknown;
	const struct load_flows *flows = &f->flows[FLOW_AGENT(id)];
	const struct event_flow *flow = FLOW_NUMBER(id) < flows->len
						? &flows->items[FLOW_NUMBER(id)] : &unknown;
	struct strbuf *out = &f->samples.text;

	f->unaddressed += flow == &unknown && f->flows_full;
	if (flow->netns_cookie)
		strbuf_printf(out, "%" PRIu64, (uint64_t)flow->netns_cookie);
	strbuf_putc(out, ',');
	put_address(out, flow, flow->local, flow->local_port);
	strbuf_putc(out, ',');
	put_address(out, flow, flow->remote, flow->remote_port);
}

/* ---- samples ---- */

/* A distance of 0 is unknown. */
static void put_after(struct strbuf *out, uint64_t from, uint32_t distance)
{
	if (distance)
		strbuf_printf(out, "%" PRIu64, from + distance);
	strbuf_putc(out, ',');
}

static void put_before(struct strbuf *out, uint64_t to, uint32_t distance)
{
	if (distance)
		strbuf_printf(out, "%" PRIu64, to - distance);
	strbuf_putc(out, ',');
}

static const char *status(const struct event_sample *s)
{
	if (!(s->flags & SAMPLE_FAILED))
		return "ok";
	if (s->flags & SAMPLE_UNSENT)
		return "unsent";
	return s->flags & SAMPLE_TIMEOUT ? "timeout" : "failed";
}

/* What else is known of a sample, separated by blanks. */
static void put_flags(struct strbuf *out, uint16_t flags)
{
	static const struct {
		uint16_t flag;
		const char *name;
	} names[] = {
		{ SAMPLE_NIC_TX, "nic-tx" },	 { SAMPLE_NIC_RX, "nic-rx" },
		{ SAMPLE_WARMUP, "warmup" },	 { SAMPLE_CENSORED, "censored" },
		{ SAMPLE_ASLEEP, "asleep" },	 { SAMPLE_RETRANSMIT, "retransmit" },
		{ SAMPLE_PROBE, "probe" },	 { SAMPLE_RESENT, "resent" },
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(flags & names[i].flag))
			continue;
		strbuf_printf(out, "%s%s", between, names[i].name);
		between = " ";
	}
}

static void put_sample(struct load_files *f, const struct event_sample *s)
{
	struct strbuf *out = &f->samples.text;

	strbuf_printf(out, "%" PRIu64 ",", (uint64_t)s->intended);
	if (!(s->flags & SAMPLE_UNSENT))
		strbuf_printf(out, "%" PRIu64, (uint64_t)s->sent);
	strbuf_putc(out, ',');
	put_after(out, s->sent, s->sched_ns);
	put_after(out, s->sent, s->snd_ns);
	put_after(out, s->sent, s->ack_ns);
	put_after(out, s->sent, s->server_in_ns);
	put_before(out, s->done, s->server_out_ns);
	put_before(out, s->done, s->rx_ns);
	put_before(out, s->done, s->wake_ns);
	strbuf_printf(out, "%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",",
		      (uint64_t)s->done, (uint32_t)s->tx_bytes, (uint32_t)s->rx_bytes,
		      (uint64_t)s->tx_offset, (uint64_t)s->rx_offset);
	put_flow(f, s->flow);
	strbuf_printf(out, ",%u,%s,", s->type, status(s));
	put_flags(out, s->flags);
	strbuf_putc(out, '\n');
	if (out->len >= TEXT_FULL)
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
	run_facts_take(&f->facts, key, value);
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
			err = take_flow(f, &event);
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
	for (int i = 0; i < LOAD_AGENTS_MAX; i++)
		vec_release(&files->flows[i]);
}
