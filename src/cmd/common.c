/* SPDX-License-Identifier: Apache-2.0 */
/* The options that all commands share, such as --json and --output. */
#include <stdlib.h>

#include "base/log.h"
#include "base/tty.h"
#include "cmd/cmd.h"
#include "report/times.h"

static const struct opt_choice color_choices[] = {
	{ "auto", COLOR_AUTO, "if the output goes to a terminal" },
	{ "always", COLOR_ALWAYS, NULL },
	{ "never", COLOR_NEVER, NULL },
	{ NULL, 0, NULL },
};

const struct opt_choice time_choices[] = {
	{ "wall", TIMES_WALL, "time of day in UTC, also correct after the clock was set" },
	{ "monotonic", TIMES_MONOTONIC, "seconds of CLOCK_MONOTONIC" },
	{ "trace", TIMES_TRACE, "seconds since the recording began" },
	{ NULL, 0, NULL },
};

#define FORMAT_ROWS                                                                                \
	OPT_FLAG(struct common_options, json, .name = "json", .group = OPT_OUTPUT,                 \
		 .excludes = "json-lines",                                                         \
		 .help = "Print one JSON document at the end"),                                    \
	OPT_FLAG(struct common_options, json_lines, .name = "json-lines", .group = OPT_OUTPUT,     \
		 .help = "Print one JSON document per interval, each on a line of its own"),       \
	OPT_FLAG(struct common_options, quiet, .name = "quiet", .group = OPT_OUTPUT,               \
		 .letter = 'q',                                                                    \
		 .help = "Print only warnings and errors on standard error"),                      \
	OPT_CHOICE(struct common_options, color, .name = "color", .group = OPT_OUTPUT,             \
		   .rare = true, .metavar = "WHEN",                                                \
		   .def = "auto", .choices = color_choices, .help = "Color the text output")

const struct opt common_option_rows[] = {
	OPTION_OUTPUT(struct common_options, output,
		      .help = "Write the result to FILE instead of standard output"),
	FORMAT_ROWS,
	OPT_END,
};

const struct opt common_summary_rows[] = {
	OPT_STRING(struct common_options, output, .name = "summary", .group = OPT_OUTPUT,
		   .file = true,
		   .help = "Write what is printed to FILE instead of standard output"),
	FORMAT_ROWS,
	OPT_END,
};

void common_begin(const struct common_options *common)
{
	if (common->quiet)
		log_set_level(LOG_LEVEL_WARNING);
}

bool common_color(const struct common_options *common, int fd)
{
	const char *no_color = getenv("NO_COLOR");

	if (common->color != COLOR_AUTO)
		return common->color == COLOR_ALWAYS;
	return tty_obeys(fd) && !(no_color && *no_color);
}
