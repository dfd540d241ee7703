/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat load: measures the latency of requests at a given load, with confidence intervals. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "cmd/cmd.h"
#include "cmd/load_earlier.h"
#include "cmd/load_files.h"
#include "cmd/load_judge.h"
#include "cmd/load_live.h"
#include "cmd/load_many.h"
#include "cmd/load_options.h"
#include "cmd/load_rate.h"
#include "cmd/recorded_file.h"
#include "cmd/result.h"
#include "event/reader.h"
#include "load/asserts.h"
#include "load/plots.h"
#include "load/schedule.h"

struct load_command {
	struct load_options load;
	struct load_many_options many;
	struct load_judge_options judge;
	const char *dump_schedule, *samples, *hdr, *ccdf, *record, *from, *probe_to;
	uint64_t size_limit;
	bool plot, no_history;
	struct common_options common;
};

#define MANY "rates,find-max,repeat,against"

static const struct opt load_options[] = {
	OPTIONS_LOAD(struct load_command, load),
	OPTIONS_LOAD_HOSTS(struct load_command, load.hosts),
	OPTIONS_LOAD_MANY(struct load_command, many),
	OPTIONS_LOAD_JUDGE(struct load_command, judge),
	OPT_STRING(struct load_command, dump_schedule, .name = "dump-schedule",
		   .group = OPT_OUTPUT, .rare = true, .file = true,
		   .excludes = MANY ",agents,latency-agents",
		   .help = "Write the time at which each request is due, in the format of "
			   "--arrival FILE"),
	OPT_STRING(struct load_command, samples, .name = "samples",
		   .group = OPT_OUTPUT, .file = true, .excludes = MANY,
		   .help = "Write each request as a line of CSV"),
	OPT_STRING(struct load_command, hdr, .name = "hdr",
		   .group = OPT_OUTPUT, .rare = true, .file = true, .excludes = MANY,
		   .help = "Write the latencies of each second as an HdrHistogram log"),
	OPT_STRING(struct load_command, ccdf, .name = "ccdf",
		   .group = OPT_OUTPUT, .rare = true, .file = true, .excludes = MANY,
		   .help = "Write the share of requests above each latency, with its confidence "
			   "interval, as CSV"),
	OPT_FLAG(struct load_command, plot, .name = "plot",
		 .group = OPT_OUTPUT,
		 .excludes = "repeat,against,json,json-lines",
		 .help = "Also draw the result: latency over time, or over load with --rates and "
			 "--find-max; the share of requests above each latency; requests needed"),
	OPT_STRING(struct load_command, record, .name = "record",
		   .group = OPT_OUTPUT, .file = true, .excludes = MANY,
		   .help = "Write the run to FILE as well, for --from"),
	OPT_SIZE(struct load_command, size_limit, .name = "size-limit",
		 .group = OPT_STOP, .rare = true, .min = 64 << 10,
		 .help = "Largest size of the recording; samples that do not fit are only counted"),
	OPT_STRING(struct load_command, from, .name = "from",
		   .group = OPT_MEASURE, .file = true,
		   .excludes = LOAD_OPTIONS_MEASURING ",dump-schedule,record,size-limit," MANY,
		   .help = "Analyze a recorded run again instead of measuring (- is standard "
			   "input)"),
	OPT_FLAG(struct load_command, no_history, .name = "no-history",
		 .group = OPT_OUTPUT, .rare = true, .excludes = "from," MANY,
		 .help = "Leave this run out of the file of earlier runs, which a sound run tells "
			 "of"),
	OPT_STRING(struct load_command, probe_to, .name = "probe-to", .file = true, .hidden = true,
		   .help = "Write the rate that one connection reaches to FILE, and end"),
	OPTIONS_COMMON(struct load_command, common),
	OPT_END,
};

/* ---- checks ---- */

static int load_cmd_refuse(int err, const struct strbuf *why)
{
	log_error("load: %s", why->len ? strbuf_str(why) : strerror(-err));
	return err == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
}

/* Returns whether all output files differ. Without --output, the result goes to stdout. */
static bool files_are_apart(const struct load_command *c)
{
	const char *const files[] = {
		c->common.output ? c->common.output : "-", c->record, c->samples, c->hdr, c->ccdf,
		c->dump_schedule, c->from && strcmp(c->from, "-") ? c->from : NULL, c->many.csv,
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		for (size_t k = 0; k < i; k++) {
			if (!files[i] || !files[k] || !outfile_same(files[i], files[k]))
				continue;
			log_error("load: %s is used twice: name a different file for each use",
				  strcmp(files[i], "-") ? files[i] : "standard output");
			return false;
		}
	}
	return true;
}

/* Returns whether an option's value is an existing file, not a name such as "poisson". */
static bool is_input(const char *path)
{
	return path && strpbrk(path, "./") && !access(path, F_OK);
}

static bool inputs_are_apart(const struct load_command *c)
{
	const char *const inputs[] = {
		c->load.urls_file, c->load.workload, c->load.arrival, c->load.replay.file,
		c->load.to.ca_file, c->load.to.cert_file, c->load.to.key_file,
		request_options_body_file(&c->load.to.request),
	};
	const char *const files[] = {
		c->common.output, c->record, c->samples, c->hdr, c->ccdf, c->dump_schedule,
		c->many.csv,
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		for (size_t k = 0; k < sizeof(inputs) / sizeof(inputs[0]); k++) {
			if (!files[i] || !is_input(inputs[k]) || !outfile_same(files[i], inputs[k]))
				continue;
			log_error("load: %s is an input and cannot be an output too", inputs[k]);
			return false;
		}
	}
	return true;
}

/*
 * Checks before the measurement that the output file can be written. Skips pipes: opening and
 * closing a pipe would signal end of file to its reader.
 */
static int try_file(const char *what, const char *path)
{
	struct outfile file = { 0 };
	struct stat st;
	int err;

	if (!path || !strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return EXIT_OK;
	err = outfile_open(&file, path);
	outfile_release(&file);
	if (err)
		log_error("%s to %s: %s", what, path, folder_strerror(err));
	return err ? EXIT_CANNOT : EXIT_OK;
}

static int try_files(const struct load_command *c)
{
	int code = try_file("cannot write the result", c->common.output);

	return code ? code : try_file("cannot write the table", c->many.csv);
}

/* Rejects 0.95, which was meant as a fraction: nobody wants 0.95 % confidence. */
static bool percents_make_sense(const struct load_options *o)
{
	const bool confident = !o->confidence || o->confidence >= 0.5;

	if (confident && (!o->percentile || o->percentile >= 0.01))
		return true;
	log_error("load: --%s is a percentage (95, not 0.95) of at least %s",
		  confident ? "percentile" : "confidence", confident ? "1" : "50");
	return false;
}

/* Checks the options. Returns 0, or an exit code after a message. */
static int load_cmd_check(const struct load_command *c)
{
	struct strbuf why = STRBUF_INIT(4096);
	int err = 0, code = 0;

	if (c->record && !strcmp(c->record, "-")) {
		log_error("load: --record needs a file: the result goes to standard output");
		return EXIT_USAGE;
	}
	if (!files_are_apart(c) || !inputs_are_apart(c) || !percents_make_sense(&c->load))
		return EXIT_USAGE;
	if (c->from && c->load.urls.len) {
		log_error("load: --from cannot be combined with a URL");
		return EXIT_USAGE;
	}
	if (c->size_limit && !c->record) {
		log_error("load: --size-limit needs --record");
		return EXIT_USAGE;
	}
	if (c->dump_schedule && c->load.loop == LOOP_CLOSED) {
		log_error("load: --loop closed has no schedule for --dump-schedule: requests "
			  "follow replies");
		return EXIT_USAGE;
	}
	if (!c->from)
		err = load_options_check(&c->load, load_many_has_rate(&c->many), &why);
	if (!err && c->many.against && load_options_lacks_rate(&c->load, false)) {
		strbuf_puts(&why, "--rate is missing: --against loads two servers alike");
		err = -EINVAL;
	}
	if (!err && !c->from)
		err = load_options_useful(&c->load, c->many.against, &why);
	if (!err)
		err = load_many_check(&c->many, &c->load, &why);
	if (err)
		code = load_cmd_refuse(err, &why);
	else if (!c->from && c->load.loop == LOOP_CLOSED && c->load.rate)
		log_warning("--rate is not used with --loop closed: requests follow replies");
	strbuf_release(&why);
	return code;
}

/* ---- the result ---- */

struct run_outputs {
	const struct event_damage *damage; /* damage of the recording of --from; NULL: none */
	bool record_full;
	int record_error, samples_error, hdr_error, ccdf_error;
	uint64_t unaddressed;
};

/* Stores the write errors of the closed files in `o`. */
static void load_cmd_note_files(struct run_outputs *o, const struct load_files *files)
{
	o->samples_error = files->samples.error;
	o->hdr_error = files->log.error;
	o->ccdf_error = files->ccdf.error;
	o->unaddressed = files->csv.unaddressed;
}

static void add_unaddressed(uint64_t n, struct report *r)
{
	_Static_assert(LOAD_FLOWS_MAX == 1048576, "its words say so");
	if (n)
		load_reason(r, "addresses-missing",
			    report_format(r, "%llu requests", (unsigned long long)n),
			    "the file of samples lacks the addresses of some connections: "
			    "hostlat stores at most 1,048,576 of them");
}

static void load_cmd_add_damage(const struct event_damage *damage, struct report *r)
{
	struct strbuf evidence = STRBUF_INIT(1024);

	event_damage_put(damage, &evidence);
	if (evidence.len)
		load_reason(r, "damaged", strbuf_str(&evidence),
			    "the recording is damaged: the readable part is shown");
	strbuf_release(&evidence);
}

/* Adds to the result why it is partial, if the recording is incomplete without being damaged. */
static void add_unwritten(const struct load_consumer *consumer, struct report *r)
{
	if (consumer->unwritten)
		load_reason(r, "recording-incomplete",
			    report_format(r, "%llu events did not fit",
					  (unsigned long long)consumer->unwritten),
			    "the recording is incomplete: the recorded part is shown");
	else if (!load_consumer_ended(consumer) && !consumer->interrupted)
		load_reason(r, "recording-incomplete", NULL,
			    "the recording stops before the end of the run: the recorded part is "
			    "shown");
}

static void add_recording(const struct run_outputs *outputs, const struct load_consumer *consumer,
			  struct report *r)
{
	if (outputs->damage && outputs->damage->reasons)
		load_cmd_add_damage(outputs->damage, r);
	else if (outputs->damage)
		add_unwritten(consumer, r);
	if (outputs->record_error)
		load_reason(r, "recording-incomplete", strerror(-outputs->record_error),
			    "the recording could not be written completely");
	else if (outputs->record_full)
		load_reason(r, "recording-incomplete", "--size-limit",
			    "the recording reached its size limit: the rest of the run is not in "
			    "it");
}

/* Tells of earlier runs of this load, if there is one server and the run came to its end. */
static void load_cmd_tell_earlier(const struct load_consumer *consumer, struct report *r)
{
	const struct load_setup *setup = &consumer->setup;
	struct strbuf text = STRBUF_INIT(4096);
	struct target target;

	if (setup->n_targets == 1 && !consumer->interrupted &&
	    !target_parse(setup->targets[0], &target, &text) && !target.protocol->no_network) {
		strbuf_printf(&text, "%g/s p%g %s", setup->config.rate,
			      100 * setup->analysis.percentile, setup->targets[0]);
		load_earlier_report(strbuf_str(&text), r);
	}
	strbuf_release(&text);
}

static int load_cmd_print(const struct load_command *c, struct load_consumer *consumer,
			  const struct load_files *files,
			  const struct load_judge *judge, const struct run_outputs *outputs)
{
	struct provenance who = run_facts_provenance(&files->facts, "load", LOAD_REPORT_SCHEMA);
	struct load_asserts judged = { 0 };
	struct report r;
	int err, code;

	report_init(&r, &who);
	err = load_consumer_report(consumer, &r);
	if (!err && !c->from && !c->no_history)
		load_cmd_tell_earlier(consumer, &r);
	if (!err && judge->conditions.n)
		err = load_asserts_report(&judge->conditions, consumer->analysis, &r, &judged);
	add_recording(outputs, consumer, &r);
	if (outputs->samples_error)
		load_reason(&r, "samples-incomplete", strerror(-outputs->samples_error),
			    "the file of samples could not be written");
	add_unaddressed(outputs->unaddressed, &r);
	if (outputs->hdr_error)
		load_reason(&r, "histograms-incomplete", strerror(-outputs->hdr_error),
			    "the log of histograms could not be written");
	if (outputs->ccdf_error)
		load_reason(&r, "ccdf-incomplete", strerror(-outputs->ccdf_error),
			    "the CCDF could not be written");
	if (!err && c->plot)
		load_plots_report(&r, consumer->setup.analysis.percentile);
	if (err) {
		log_error("cannot make the result: %s", strerror(-err));
		code = EXIT_CANNOT;
	} else {
		code = result_print(&r, &c->common);
	}
	if (code == EXIT_PARTIAL && load_asserts_settle(&judged, &r))
		code = EXIT_OK;
	report_release(&r);
	return code == EXIT_OK && judged.fails ? EXIT_ASSERT : code;
}

/* ---- the stream ---- */

static int load_cmd_tap(void *files, const struct event_block *block)
{
	return load_files_add(files, block);
}

/* Passes each block of the consumer to the output files, too; `files` must outlive it. */
static void load_cmd_add_files(struct load_consumer *consumer, struct load_files *files)
{
	consumer->tap = load_cmd_tap;
	consumer->tap_ctx = files;
}

/* ---- live run ---- */

static int dump_schedule(const char *path, const struct load_config *config)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct schedule schedule = { 0 };
	struct outfile file = { 0 };
	struct arrival arrival;
	int err = arrival_parse(config->arrival, &arrival, &why);

	if (!err)
		err = schedule_make(&schedule, &arrival, config->rate, config->duration_ns,
				    config->seed, &why);
	if (!err)
		err = outfile_open(&file, path);
	if (!err)
		err = schedule_dump(&schedule, &file);
	if (!err)
		err = outfile_commit(&file);
	if (err)
		log_error("cannot write the schedule to %s: %s", path,
			  why.len ? strbuf_str(&why) : folder_strerror(err));
	outfile_release(&file);
	schedule_release(&schedule);
	strbuf_release(&why);
	return err ? EXIT_CANNOT : EXIT_OK;
}

static struct load_question load_cmd_question(const struct load_command *c,
					      const struct load_judge *judge)
{
	return (struct load_question){
		.percentile = c->load.percentile, .confidence = c->load.confidence,
		.excise = c->load.excise,
		.method = c->load.method, .tolerated = judge->tolerated,
	};
}

static int run_recorded(const struct load_command *c, struct load_live *live,
			const struct load_judge *judge)
{
	struct load_files files;
	struct recording recording;
	struct run_outputs outputs = { 0 };
	int err, code = EXIT_CANNOT;

	err = load_files_open(&files, c->samples, c->hdr, c->ccdf);
	if (err)
		goto out;
	if (recording_open(&recording, c->record, c->size_limit, 1)) {
		recording_close(&recording);
		goto out;
	}
	load_cmd_add_files(live->consumer, &files);
	live->recording = &recording;
	code = load_live_run(live);
	/* Complete the output files; after a failed start, existing files stay unchanged. */
	if (!code)
		load_files_close(&files, live->consumer->analysis);
	recording_close(&recording);
	outputs.record_error = recording.error;
	outputs.record_full = recording.full;
	load_cmd_note_files(&outputs, &files);
	if (!code)
		code = load_cmd_print(c, live->consumer, &files, judge, &outputs);
out:
	load_files_release(&files);
	return code;
}

static int run_live(const struct load_command *c, struct stop *stop, struct keys *keys,
		    const struct load_judge *judge)
{
	struct strbuf why = STRBUF_INIT(4096);
	const struct load_question question = { .tolerated = judge->tolerated };
	struct load_analysis_config analysis;
	struct load_config config;
	struct load_consumer consumer;
	struct load_live live = {
		.options = &c->load, .config = &config, .analysis = &analysis, .stop = stop,
		.consumer = &consumer,
		.quiet = c->common.quiet, .keys = keys,
	};
	int err = load_options_config(&c->load, c->load.rate, 0, &config, &analysis, &why);
	int code = err ? load_cmd_refuse(err, &why) : EXIT_OK;

	strbuf_release(&why);
	if (!code && c->dump_schedule)
		code = dump_schedule(c->dump_schedule, &config);
	if (code)
		return code;
	load_consumer_init(&consumer, &question);
	code = run_recorded(c, &live, judge);
	load_consumer_release(&consumer);
	return code;
}

/* ---- from a recording ---- */

static const char *load_cmd_read_error(const char *path, int err)
{
	if (err == -EBADMSG)
		return "it is not a recording of hostlat load";
	return recorded_file_why(path, err);
}

static int load_cmd_read(struct event_source *source, struct load_consumer *consumer)
{
	struct event_block block;
	int err;

	while ((err = event_source_next(source, &block)) > 0) {
		err = load_consumer_add(consumer, &block);
		if (err < 0)
			return err;
	}
	return err ? err : load_consumer_finish(consumer);
}

static int run_from(const struct load_command *c, const struct load_judge *judge)
{
	const struct load_question asked = load_cmd_question(c, judge);
	struct event_damage damage;
	struct run_outputs outputs = { .damage = &damage };
	struct event_reader *reader = NULL;
	struct load_consumer consumer;
	struct load_files files;
	int code = EXIT_CANNOT, err = load_files_open(&files, c->samples, c->hdr, c->ccdf);

	load_consumer_init(&consumer, &asked);
	load_cmd_add_files(&consumer, &files);
	if (err)
		goto out;
	err = event_reader_open(&reader, c->from);
	if (!err)
		err = load_cmd_read(event_reader_source(reader), &consumer);
	if (err) {
		log_error("cannot read %s: %s", c->from, load_cmd_read_error(c->from, err));
		goto out;
	}
	event_source_damage(event_reader_source(reader), &damage);
	load_files_close(&files, consumer.analysis);
	load_cmd_note_files(&outputs, &files);
	code = load_cmd_print(c, &consumer, &files, judge, &outputs);
out:
	event_reader_free(reader);
	load_consumer_release(&consumer);
	load_files_release(&files);
	return code;
}

/* Measures what one connection reaches, for `hostlat explain`. */
static int run_probe(const struct load_command *c, struct stop *stop, struct keys *keys)
{
	double probed;
	int err, code = load_rate_probe(&c->load, stop, keys, c->common.quiet, &probed);

	err = code ? 0 : load_rate_write(c->probe_to, probed);
	if (err)
		log_error("cannot write the rate to %s: %s", c->probe_to, folder_strerror(err));
	return err ? EXIT_CANNOT : code;
}

/* Makes the run or the runs, at a rate that is chosen first if none is given. */
static int run_measuring(struct load_command *c, struct stop *stop, struct keys *keys,
			 const struct load_judge *judge)
{
	int code = 0;

	if (c->probe_to)
		return run_probe(c, stop, keys);
	if (load_options_lacks_rate(&c->load, load_many_has_rate(&c->many))) {
		code = load_rate_probe(&c->load, stop, keys, c->common.quiet,
				       &c->load.rate_probed);
		if (code)
			return code;
		c->load.rate = load_rate_from(c->load.rate_probed);
	}
	return load_many_asked(&c->many) ? load_many_run(&c->many, &c->load, &judge->conditions,
							 &c->common, c->plot, stop, keys)
					 : run_live(c, stop, keys, judge);
}

static int load_cmd_run(const void *config)
{
	struct load_command command = *(const struct load_command *)config, *c = &command;
	struct load_judge judge;
	struct stop stop = { 0 };
	struct keys keys;
	int code;

	common_begin(&c->common);
	if (c->from)
		privilege_read_only();
	if (load_judge_parse(&c->judge, c->many.against, &judge))
		return EXIT_USAGE;
	code = load_cmd_check(c);
	if (!code)
		code = try_files(c);
	if (code)
		return code;
	if (c->from)
		return run_from(c, &judge);
	privilege_keep(LOAD_PRIVILEGES |
		       (load_hosts_asked(&c->load.hosts) ? LOAD_PRIVILEGES_NETNS : 0));
	code = stop_init(&stop);
	if (code) {
		log_error("%s", strerror(-code));
		return EXIT_CANNOT;
	}
	keys_open_progress(&keys, c->common.quiet);
	code = run_measuring(c, &stop, &keys, &judge);
	keys_close(&keys);
	stop_release(&stop);
	return code;
}

const struct command cmd_load = {
	.name = "load",
	.summary = "measure how long requests take at a given load",
	.task = "keep a limit, in CI",
	.try = "hostlat load URL --rate 1000 --assert 'p99<5ms'",
	.examples = {
		{ "hostlat load http://10.0.0.2/",
		  "Measure at a rate that the server can bear" },
		{ "hostlat load http://10.0.0.2/ --rate 2k --for 30s --assert 'p99<5ms'",
		  "Exit with status 4 if the tail is longer, for tests; with 3 if the run cannot "
		  "prove either" },
		{ "hostlat load http://10.0.0.2/ -r 2k -d 5s --repeat 5 --assert-seen 'p99<5ms'",
		  "The same on a busy machine: what most of five runs saw decides" },
		{ "hostlat load redis://10.0.0.2 --rates 10k:100k:10k --plot",
		  "Measure latency against load, and draw it" },
	},
	.options = load_options,
	.config_size = sizeof(struct load_command),
	.run = load_cmd_run,
};
