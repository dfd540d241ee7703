/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat compare: reports the differences between recordings, one or several of each side. Each
 * analysis compares its own data; compare_sides.c determines which data all recordings contain.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/compare_sides.h"
#include "cmd/recorded_file.h"
#include "cmd/result.h"

#define COMPARE_SCHEMA 1
#define CALIBRATE_MIN 3u

_Static_assert(OPT_LIST_MAX <= DIFFERENCE_RECORDINGS_MAX, "a side has room for its recordings");

struct compare_config {
	struct opt_list files, a, b;
	bool calibrate;
	const char *slice;
	uint64_t slowest;
	uint32_t time;
	struct common_options common;
};

static const struct opt compare_options[] = {
	OPT_LIST(struct compare_config, files, .name = "FILE",
		 .group = OPT_TARGET, .positional = true, .file = true,
		 .help = "Recordings, or folders of hostlat explain: A from before the change, B "
			 "of the same kind from after it"),
	OPT_LIST(struct compare_config, a, .name = "a",
		 .group = OPT_TARGET, .words = true, .file = true,
		 .help = "Recordings or folders from before the change; with several per side, how "
			 "much recordings of one side differ decides what is significant"),
	OPT_LIST(struct compare_config, b, .name = "b",
		 .group = OPT_TARGET, .words = true, .file = true,
		 .help = "Recordings or folders from after the change"),
	OPT_FLAG(struct compare_config, calibrate, .name = "calibrate",
		 .group = OPT_MEASURE,
		 .excludes = "a,b,slice,slowest",
		 .help = "Compare recordings FILE... of one set-up with each other, to show how "
			 "often they are reported to differ, and how much they do"),
	OPT_STRING(struct compare_config, slice, .name = "slice",
		   .group = OPT_MEASURE, .metavar = "FROM:TO",
		   .excludes = "slowest",
		   .help = "Compare the causes of the messages between these percentiles of the "
			   "latency, in each recording (default 99.9:100)"),
	OPT_U64(struct compare_config, slowest, .name = "slowest",
		.group = OPT_MEASURE, .min = 1,
		.max = SUBJECTS_MAX,
		.help = "Compare the causes of the N slowest messages of each recording"),
	OPTION_TIME(struct compare_config, time),
	OPTIONS_COMMON(struct compare_config, common),
	OPT_END,
};

static bool compare_selection(const struct compare_config *c, struct message_selection *s)
{
	/*
	 * The struct needs a slice of reference messages, although a comparison of two recordings
	 * does not use any.
	 */
	*s = (struct message_selection){ .from = 0.999, .to = 1, .slowest = c->slowest,
				 .against_from = 0.5, .against_to = 0.5 };
	if (!c->slice || recorded_slice_parse(c->slice, &s->from, &s->to))
		return true;
	log_error("--slice takes two percentiles, such as 99.9:100, not '%s'", c->slice);
	return false;
}

/* ---- which recordings ---- */

/* Takes A and B from the words of `hostlat compare A B`. */
static bool compare_take_two(const struct opt_list *files, struct opt_list *a, struct opt_list *b)
{
	if (files->len < 2) {
		log_error("%s is missing: give two recordings, A and B, or several of each side "
			  "with --a and --b", files->len ? "B" : "A");
		return false;
	}
	if (files->len > 2) {
		log_error("%u recordings are given where A and B are expected: give several of "
			  "each side with --a and --b, or --calibrate for recordings of one set-up",
			  files->len);
		return false;
	}
	*a = (struct opt_list){ .items = { files->items[0] }, .len = 1 };
	*b = (struct opt_list){ .items = { files->items[1] }, .len = 1 };
	return true;
}

/* Returns false after a message if a file is given twice: it would count as two recordings. */
static bool compare_files_differ(const struct opt_list *files)
{
	for (size_t i = 0; i < files->len; i++)
		for (size_t k = 0; k < i; k++) {
			struct stat x, y;

			if (stat(files->items[i], &x) || stat(files->items[k], &y) ||
			    x.st_dev != y.st_dev || x.st_ino != y.st_ino)
				continue;
			log_error("%s and %s are one recording: give each once", files->items[k],
				  files->items[i]);
			return false;
		}
	return true;
}

/* Sets the recordings of both sides; with --calibrate all are of A. False after a message. */
static bool compare_choose(const struct compare_config *c, struct opt_list *a, struct opt_list *b)
{
	*a = c->a;
	*b = c->b;
	if (c->calibrate) {
		*a = c->files;
		if (a->len < CALIBRATE_MIN)
			log_error("--calibrate takes at least %u recordings of one set-up, not %u",
				  CALIBRATE_MIN, a->len);
		return a->len >= CALIBRATE_MIN;
	}
	if (!a->len && !b->len)
		return compare_take_two(&c->files, a, b);
	if (c->files.len) {
		log_error("'%s' is of no side: give all recordings with --a or --b",
			  c->files.items[0]);
		return false;
	}
	if (!a->len || !b->len) {
		log_error("--%s is missing: both sides take recordings", a->len ? "b" : "a");
		return false;
	}
	return true;
}

/* ---- the command ---- */

static int compare_print(const struct compare_config *c, struct compare_sides *in)
{
	const struct compare_side *last = &in->sides[in->sides[1].n ? 1 : 0];
	struct provenance who = run_facts_provenance(&last->inputs[0].run, "compare",
						     COMPARE_SCHEMA);
	struct report report;
	int err, code = EXIT_CANNOT;

	report_init(&report, &who);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < in->sides[side].n; i++)
			watch_run_times(in->sides[side].inputs[i].watch)->style = c->time;
	err = c->calibrate ? compare_sides_calibrate(in, &report) :
			     compare_sides_report(in, &report);
	if (err)
		log_error("cannot make the result: %s", strerror(-err));
	else
		code = result_print(&report, &c->common);
	report_release(&report);
	return code;
}

static int cmd_compare_run(const void *config)
{
	const struct compare_config *c = config;
	struct message_selection selection;
	struct compare_sides in = { 0 };
	struct opt_list a, b;
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (!compare_selection(c, &selection) || !compare_choose(c, &a, &b) ||
	    !compare_files_differ(&a) || !compare_files_differ(&b))
		return EXIT_USAGE;
	if (!compare_sides_read(&in, &a, c->calibrate ? NULL : &b, &selection))
		code = compare_print(c, &in);
	compare_sides_release(&in);
	return code;
}

const struct command cmd_compare = {
	.name = "compare",
	.reads_only = true,
	.summary = "show how recordings differ, one or several of each side",
	.task = "did my change help",
	.try = "hostlat compare BEFORE AFTER",
	.examples = {
		{ "hostlat compare before after",
		  "Compare two folders of hostlat explain, connections included" },
		{ "hostlat compare before.hlat after.hlat",
		  "Show whether a change helped the slowest thousandth of the messages" },
		{ "hostlat compare --a before-*.hlat --b after-*.hlat",
		  "Show what the change did, and not only how two recordings differ" },
	},
	.options = compare_options,
	.config_size = sizeof(struct compare_config),
	.run = cmd_compare_run,
};
