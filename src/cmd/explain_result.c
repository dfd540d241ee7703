/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain_result.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "cmd/explain_conns.h"
#include "cmd/load_options.h"
#include "cmd/recorded_file.h"
#include "cmd/remedy.h"
#include "cmd/result.h"
#include "cmd/run_facts.h"
#include "conns/conns.h"
#include "diagnose/correlation.h"
#include "diagnose/diagnose.h"
#include "diagnose/period_commands.h"
#include "event/reader.h"
#include "load/consumer.h"
#include "load/quantile_words.h"
#include "output/json.h"
#include "report/human.h"

/* The slow requests and messages are the slowest hundredth. */
#define SLOW 0.01
#define LINES_MAX 10

struct explain_file_path {
	char path[4096];
};

static const char *explain_path(struct explain_file_path *place, const char *folder,
				const char *name)
{
	snprintf(place->path, sizeof(place->path), "%s/%s", folder, name);
	return place->path;
}

/* ---- the load generator's recording ---- */

static int explain_read_load(struct event_reader *reader, struct load_summary *out)
{
	const struct load_question question = { 0 };
	struct load_consumer consumer;
	struct event_block block;
	int err;

	load_consumer_init(&consumer, &question);
	while ((err = event_source_next(event_reader_source(reader), &block)) > 0) {
		err = load_consumer_add(&consumer, &block);
		if (err < 0)
			break;
	}
	if (!err || err == LOAD_DECIDED)
		err = load_consumer_finish(&consumer);
	if (!err)
		err = load_consumer_summary(&consumer, LOAD_PERCENTILE_DEFAULT, NULL, out);
	load_consumer_release(&consumer);
	return err;
}

static void explain_put_load_finding(struct report *r, const struct load_summary *s)
{
	const struct load_quantile *p99 = &s->quantiles[REPORT_P99];
	char rate[HUMAN_MAX], count[HUMAN_MAX];
	const char *why = s->sound ? load_quantile_why(p99, r) : s->reasons;

	if (!p99->known)
		report_finding(r, "No latency of the requests: %s.", s->reasons);
	else
		report_finding(r, "p99 %s at %s/s, %s requests%s%s.", load_quantile_value(p99, r),
			       human_rate(rate, s->achieved), human_count(count, s->count),
			       why ? ": " : "", why ? why : "");
}

/* Sets the headline: the tail, the median, and why. Returns 0 or -ENOMEM. */
static int explain_put_headline(struct report *r, const struct load_summary *s,
				const struct diagnosis *d)
{
	const struct load_quantile *p99 = &s->quantiles[REPORT_P99];
	struct load_quantile p50 = s->quantiles[REPORT_P50];
	const char *cause;
	int err = diagnosis_headline_cause(d, r, &cause);

	if (err)
		return err;
	p50.bounded = true;
	if (!p99->known || !p50.known)
		report_headline(r, "The latency of the requests is not known: %s.", s->reasons);
	else
		report_headline(r, "p99 is %s, the median %s: %s.",
				load_quantile_short(p99, false, r),
				load_quantile_short(&p50, false, r),
				cause ? cause : "no cause stands out");
	return 0;
}

/* ---- the server's recording ---- */

static const struct diagnose_options slowest_hundredth = {
	.selection = { .from = 1 - SLOW, .to = 1, .against = AGAINST_AUTO, .against_from = 0.4,
		       .against_to = 0.6, .wider = true },
	.load = { .share = SLOW, .to_ns = UINT64_MAX },
};

/* Reads the pid of the process that recorded the connections; 0: there is no such recording. */
static int explain_read_conns_pid(const char *path, uint64_t *pid)
{
	struct event_reader *reader;
	int err;

	*pid = 0;
	if (event_reader_open(&reader, path))
		return 0;
	err = run_facts_read_pid(reader, pid);
	event_reader_free(reader);
	return err;
}

static int explain_diagnose(struct diagnosis **out, const char *conns, struct event_reader *server,
			    struct event_reader *client, const struct load_summary *load)
{
	struct diagnose_options options = slowest_hundredth;
	int err;

	options.load.reader = client;
	if (load->count) {
		options.load.from_ns = load->from_ns;
		options.load.to_ns = load->to_ns;
	}
	err = run_facts_read_pid(client, &options.hostlat.load);
	if (!err)
		err = explain_read_conns_pid(conns, &options.hostlat.conns);
	if (!err)
		err = diagnosis_new(out, &options);
	return err ? err : diagnosis_run(*out, server, NULL);
}

/* Copies another report's findings, and the reasons that make that report, and so `r`, partial. */
static void explain_copy_findings(struct report *r, const struct report *from)
{
	for (const struct item *i = from->findings.first; i; i = i->next)
		if (r->findings.count < LINES_MAX)
			report_finding(r, "%s", i->string);
	for (const struct table_row *row = from->reasons ? from->reasons->first : NULL; row;
	     row = row->next)
		report_reason(r, row->cells[0].string,
			      row->cells[2].type == VALUE_STRING ? row->cells[2].string : NULL,
			      "%s", row->cells[1].string);
}

/* ---- result.json ---- */

/* Results of the other commands as JSON; `conns` is set only if connections were measured. */
struct explain_documents {
	struct report diagnosed, conns;
	bool any_conns;
	struct strbuf load, watch, diagnosed_text, conns_text;
};

static void documents_release(struct explain_documents *documents)
{
	report_release(&documents->diagnosed);
	report_release(&documents->conns);
	strbuf_release(&documents->load);
	strbuf_release(&documents->watch);
	strbuf_release(&documents->diagnosed_text);
	strbuf_release(&documents->conns_text);
}

static int result_add_file(struct report *r, const char *folder, const char *name,
			   const char *member, struct strbuf *text)
{
	struct explain_file_path place;
	int err = readfile(explain_path(&place, folder, name), text);

	if (err)
		log_error("cannot read %s: %s", place.path, strerror(-err));
	else
		object_add(&r->body, member, value_json(strbuf_str(text)));
	return err;
}

static int result_add_document(struct report *r, const char *member, const struct report *document,
			       struct strbuf *text)
{
	json_report(document, JSON_DOCUMENT, text);
	object_add(&r->body, member, value_json(strbuf_str(text)));
	return text->error ? text->error : report_error(document);
}

static int result_assemble(const char *folder, struct report *r,
			   struct explain_documents *documents, struct strbuf *out)
{
	int err = result_add_file(r, folder, EXPLAIN_LOAD, "load", &documents->load);

	if (!err)
		err = result_add_file(r, folder, EXPLAIN_WATCH, "watch", &documents->watch);
	if (!err)
		err = result_add_document(r, "diagnose", &documents->diagnosed,
					  &documents->diagnosed_text);
	if (!err && documents->any_conns)
		err = result_add_document(r, "conns", &documents->conns, &documents->conns_text);
	if (!err) {
		json_report(r, JSON_DOCUMENT, out);
		err = report_error(r);
	}
	if (!err)
		err = out->error ? out->error : strbuf_fetch_shortage();
	if (err)
		log_error("cannot assemble the result in %s: %s", folder, strerror(-err));
	return err;
}

static int result_write(const char *folder, const struct strbuf *text)
{
	struct explain_file_path place;
	int err = outfile_put(explain_path(&place, folder, EXPLAIN_RESULT), text);

	if (err)
		log_error("cannot write %s: %s", place.path, folder_strerror(err));
	return err;
}

/* ---- the result ---- */

static int explain_print(const struct report *r, const struct strbuf *json,
			 const struct common_options *common)
{
	int err;

	if (!common->json && !common->json_lines)
		return result_print(r, common);
	err = outfile_put(common->output, json);
	if (err == -EPIPE) /* the reader of the pipe has exited */
		err = 0;
	if (err)
		log_error("cannot write the result: %s", folder_strerror(err));
	return err ? EXIT_CANNOT : r->partial ? EXIT_PARTIAL : EXIT_OK;
}

/* Contents of a run's recordings. */
struct explain_known {
	struct run_facts run;
	struct load_summary load;
	struct diagnosis *diagnosis;
	struct correlation *correlation;
	struct period_commands *period;
	struct explain_conns *conns;
};

static void explain_known_release(struct explain_known *known)
{
	explain_conns_free(known->conns);
	correlation_free(known->correlation);
	period_commands_free(known->period);
	diagnosis_free(known->diagnosis);
}

static int explain_fill_report(const struct explain_input *input, const struct explain_known *known,
			       struct report *r, struct explain_documents *documents)
{
	int err;

	object_add(&r->body, "kernel", value_string(*known->run.kernel ? known->run.kernel : NULL));
	report_title(r, "Why the slow requests were slow");
	report_summary(r, "recordings and result in %s", input->folder);
	err = explain_put_headline(r, &known->load, known->diagnosis);
	explain_put_load_finding(r, &known->load);
	if (!err)
		err = period_commands_report(known->period, r);
	if (!err)
		err = diagnosis_report(known->diagnosis, &documents->diagnosed);
	if (!err)
		explain_copy_findings(r, &documents->diagnosed);
	remedy_add(known->diagnosis, r);
	if (!err)
		err = explain_conns_report(known->conns, known->diagnosis, r, &documents->conns);
	documents->any_conns = explain_conns_known(known->conns);
	correlation_report(known->correlation,
			   r->findings.count < LINES_MAX ? LINES_MAX - r->findings.count : 0, r);
	if (!known->load.sound)
		report_reason(r, "load-not-sound", known->load.reasons,
			      "the load was not as requested, or its latency is not valid");
	if (input->conns_failed)
		report_reason(r, "connections-not-measured", input->no_conns,
			      "the connections could not be measured: what limits them is unknown");
	report_place_findings(r);
	report_place_verdict(r);
	return err;
}

/* Begins a report of `command` with host and start time of the recording. */
static void explain_begin_report(const struct explain_known *known, struct report *r,
				 const char *command, unsigned int schema)
{
	const struct provenance who = run_facts_provenance(&known->run, command, schema);

	report_init(r, &who);
}

static int explain_conclude(const struct explain_input *input, const struct common_options *common,
			    const struct explain_known *known)
{
	struct strbuf json = STRBUF_INIT(REPORT_MEMORY_MAX);
	struct explain_documents documents = {
		.load = STRBUF_INIT(REPORT_MEMORY_MAX),
		.watch = STRBUF_INIT(REPORT_MEMORY_MAX),
		.diagnosed_text = STRBUF_INIT(REPORT_MEMORY_MAX),
		.conns_text = STRBUF_INIT(REPORT_MEMORY_MAX),
	};
	int code = EXIT_CANNOT, err;
	struct report r;

	explain_begin_report(known, &r, "explain", EXPLAIN_SCHEMA);
	explain_begin_report(known, &documents.diagnosed, "diagnose", DIAGNOSE_SCHEMA);
	explain_begin_report(known, &documents.conns, "conns", CONNS_SCHEMA);
	err = explain_fill_report(input, known, &r, &documents);
	if (err)
		log_error("cannot explain the recordings in %s: %s", input->folder,
			  strerror(-err));
	if (!err)
		err = result_assemble(input->folder, &r, &documents, &json);
	if (!err && !input->anew)
		err = result_write(input->folder, &json);
	if (!err)
		code = explain_print(&r, &json, common);
	strbuf_release(&json);
	report_release(&r);
	documents_release(&documents);
	return code;
}

static int explain_feed_fact(void *ctx, const struct event *event)
{
	const char *key, *value;

	if (event->kind != EV_FACT)
		return 0;
	event_fact_get(event, &key, &value);
	run_facts_feed(ctx, key, value);
	return 0;
}

/* Looks for the commands that run at the period of the load's latency, if it has one. */
static int explain_find_period(const struct explain_known *known, struct event_reader *client,
			       struct period_commands **out)
{
	const struct load_summary *load = &known->load;
	const struct latency_period period = {
		.ns = load->period_ns, .from = load->from_ns, .to = load->to_ns,
	};

	return period_commands_new(out, known->diagnosis, client, &period);
}

static int explain_analyze(const struct explain_input *input, struct event_reader *server,
			   struct event_reader *client, struct explain_known *known)
{
	struct explain_file_path place;
	int err = recorded_file_events(server, explain_feed_fact, &known->run);

	if (!err)
		err = explain_read_load(client, &known->load);
	if (!err)
		err = explain_diagnose(&known->diagnosis,
				       explain_path(&place, input->folder, EXPLAIN_CONNS), server,
				       client, &known->load);
	if (!err)
		err = explain_find_period(known, client, &known->period);
	if (!err)
		err = correlation_new(&known->correlation, server, client);
	if (!err)
		err = explain_conns_new(&known->conns,
					explain_path(&place, input->folder, EXPLAIN_CONNS),
					input->no_conns, server, client);
	if (err)
		log_error("cannot analyze the recordings in %s: %s", input->folder,
			  strerror(-err));
	return err;
}

int explain_result(const struct explain_input *input, const struct common_options *common)
{
	struct event_reader *server, *client = NULL;
	struct explain_known known = { 0 };
	int code = EXIT_CANNOT;
	struct explain_file_path place;

	server = recorded_file_open(explain_path(&place, input->folder, EXPLAIN_SERVER));
	if (server)
		client = recorded_file_open(explain_path(&place, input->folder, EXPLAIN_CLIENT));
	if (client && !explain_analyze(input, server, client, &known))
		code = explain_conclude(input, common, &known);
	explain_known_release(&known);
	event_reader_free(client);
	event_reader_free(server);
	return code;
}
