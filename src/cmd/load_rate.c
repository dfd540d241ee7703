/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_rate.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/parse.h"
#include "base/readfile.h"
#include "cmd/cmd.h"
#include "cmd/load_live.h"
#include "report/human.h"

#define PROBE_NS NS_PER_S
#define SHARE 0.5
#define RATE_MOST 10000.0
#define TEXT_MAX 64

double load_rate_from(double probed)
{
	const double rate = fmin(SHARE * probed, RATE_MOST);
	const double step = pow(10, floor(log10(rate)) - 1);

	return floor(rate / step + 1e-9) * step;
}

void load_rate_log(double probed)
{
	char reached[HUMAN_MAX];

	log_info("--rate %g was chosen: one connection reached %s/s, one request at a time, of "
		 "which it is half, at most 10k; runs to be compared need the same --rate",
		 load_rate_from(probed), human_rate(reached, probed));
}

/* Reduces the options to those that decide how long one request takes. */
static struct load_options load_rate_options(const struct load_options *o)
{
	struct load_options probe = *o;

	probe.loop = LOOP_CLOSED;
	probe.connections = probe.threads.count = probe.outstanding = 1;
	probe.max_time_ns = PROBE_NS;
	probe.stamps = STAMPS_USER;
	probe.arrival = probe.abort_on = NULL;
	probe.preload = probe.spin = probe.excise = false;
	probe.ci_width_ns = 0;
	probe.method = 0;
	return probe;
}

static int load_rate_measure(const struct load_options *o, struct stop *stop, struct keys *keys,
			     bool quiet, struct load_consumer *consumer)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct recording recording = { 0 };
	struct load_analysis_config analysis;
	struct load_config config;
	const struct load_live live = {
		.options = o, .config = &config, .analysis = &analysis, .stop = stop,
		.recording = &recording, .consumer = consumer, .quiet = quiet,
		.keys = keys,
		.label = "choosing a rate",
	};
	int err = load_options_config(o, 0, 0, &config, &analysis, &why);

	if (err)
		log_error("load: %s", why.len ? strbuf_str(&why) : strerror(-err));
	strbuf_release(&why);
	return err ? EXIT_CANNOT : load_live_run(&live);
}

int load_rate_probe(const struct load_options *o, struct stop *stop, struct keys *keys, bool quiet,
		    double *probed)
{
	const struct load_options options = load_rate_options(o);
	const struct load_question none = { 0 };
	struct load_consumer consumer;
	int code;

	load_consumer_init(&consumer, &none);
	code = load_rate_measure(&options, stop, keys, quiet, &consumer);
	if (!code && consumer.interrupted) {
		log_error("interrupted before a result was available");
		code = EXIT_CANNOT;
	} else if (!code) {
		*probed = load_analysis_achieved(consumer.analysis);
		if (!(*probed > 0)) {
			log_error("no rate could be chosen: no request succeeded within 1 s; set "
				  "--rate");
			code = EXIT_CANNOT;
		}
	}
	load_consumer_release(&consumer);
	if (!code)
		load_rate_log(*probed);
	return code;
}

int load_rate_write(const char *path, double probed)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);
	int err;

	strbuf_printf(&text, "%.3f", probed);
	err = outfile_put(path, &text);
	strbuf_release(&text);
	return err;
}

int load_rate_read(const char *path, double *probed)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);
	int err = readfile(path, &text);

	if (!err)
		err = parse_rate(strbuf_str(&text), probed);
	strbuf_release(&text);
	return err;
}
