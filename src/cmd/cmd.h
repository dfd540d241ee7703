/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command is one file in src/cmd: its config struct, its option rows, its run function, and
 * `const struct command cmd_NAME`, which src/main.c puts in the table.
 */
#ifndef HOSTLAT_CMD_CMD_H
#define HOSTLAT_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/strbuf.h"

/* The exit codes of every command; part of the contract of the command line. */
enum exit_code {
	EXIT_OK = 0,      /* measured, sound */
	EXIT_USAGE = 1,   /* bad usage; the message names the option and what it takes */
	EXIT_CANNOT = 2,  /* could not run; the message says what to do */
	EXIT_PARTIAL = 3, /* ran, but the result is n/a or partial; the reasons are in the result */
	EXIT_ASSERT = 4,  /* measured, sound, but a condition given with --assert does not hold */
};

/* A command; a table of them ends with NULL. */
struct command {
	const char *name;
	const char *summary; /* one line, lower case, no dot: help and the man page's NAME */
	const struct opt *options;
	size_t config_size;
	bool reads_only; /* files: it gives up all privileges before it opens one */
	bool hidden; /* for the build, not for users: left out of the list of commands */
	/*
	 * Exactly one of the two. `config` holds what `options` describe. Both return an enum
	 * exit_code; messages have been printed. `describe` is for commands about the commands.
	 */
	int (*run)(const void *config);
	int (*describe)(const struct command *const *table, const void *config);
};

enum color_choice {
	COLOR_AUTO, /* if the output is a terminal and NO_COLOR is not set */
	COLOR_ALWAYS,
	COLOR_NEVER,
};

/* Options that every command takes. A command that prints a result has this in its config. */
struct common_options {
	bool json;
	bool json_lines;
	bool quiet;
	uint32_t color; /* enum color_choice */
	const char *output; /* NULL: standard output */
};

extern const struct opt common_option_rows[];

#define OPTIONS_COMMON(config, member)                                                             \
	OPT_ROWS(config, member, struct common_options, common_option_rows)

extern const struct opt_choice time_choices[]; /* enum times_style */

#define OPTION_TIME(config, member)                                                                \
	OPT_CHOICE(config, member, .name = "time", .choices = time_choices,                        \
		   .help = "Clock by which points in time are printed (default: wall, if the "     \
			   "recording relates its clocks)")

/* Whether text for descriptor `fd` is to be coloured. */
bool common_color(const struct common_options *common, int fd);

/* Applies --quiet to the log. Every run function that has common options begins with it. */
void common_begin(const struct common_options *common);

/* Finds a command by name; NULL if there is none, and then it has printed what is near. */
const struct command *command_find(const struct command *const *table, const char *name);

/* Writes the output of `hostlat NAME --help`. */
void command_help(const struct command *command, struct strbuf *out);

/* Writes the output of `hostlat --help`. */
void command_overview(const struct command *const *table, struct strbuf *out);

/* Prints `text` on stdout and releases it. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int command_print(struct strbuf *text);

/* The program: argv as main() has it. Returns the exit code. */
int dispatch(const struct command *const *table, int argc, char **argv);

#endif
