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
	EXIT_OK = 0,      /* the measurement succeeded and is sound */
	EXIT_USAGE = 1,   /* bad usage; the message names the option and what it takes */
	EXIT_CANNOT = 2,  /* the command could not run; the message says what to do */
	EXIT_PARTIAL = 3, /* the command ran, but the result is n/a or partial, with reasons */
	EXIT_ASSERT = 4,  /* the measurement is sound, but a condition of --assert does not hold */
};

#define COMMAND_EXAMPLES 4

/* A command line as a user types it, and its effect: one sentence without its period. */
struct command_example {
	const char *line, *what;
};

/* A command of hostlat. A table of commands ends with NULL. */
struct command {
	const char *name;
	const char *summary; /* one line, lower case, no period: for help and the man page's NAME */
	/* question that this command answers, and a command line; NULL: not in the overview */
	const char *task, *try;
	struct command_example examples[COMMAND_EXAMPLES]; /* further ones are NULL */
	const struct opt *options;
	size_t config_size;
	bool reads_only; /* the command only reads files: it drops all privileges first */
	bool hidden; /* not for users: not listed in help */
	/*
	 * The command's function: exactly one of run() and describe() is set. `config` is the
	 * struct that `options` fill in. Both return an enum exit_code, after all messages.
	 * describe() is for commands such as help, which need the table of commands.
	 */
	int (*run)(const void *config);
	int (*describe)(const struct command *const *table, const void *config);
};

/* All commands, in the order of help. */
extern const struct command *const command_table[];

enum color_choice {
	COLOR_AUTO, /* colored if the output is a terminal and NO_COLOR is not set */
	COLOR_ALWAYS,
	COLOR_NEVER,
};

/* Options of every command. A command that prints a result embeds this struct in its config. */
struct common_options {
	bool json;
	bool json_lines;
	bool quiet;
	uint32_t color; /* when to color the output: enum color_choice */
	const char *output; /* path of the output file; NULL: standard output */
};

extern const struct opt common_option_rows[], common_summary_rows[];

#define OPTIONS_COMMON(config, member)                                                             \
	OPT_ROWS(config, member, struct common_options, common_option_rows)

/*
 * The same for a command whose --output is a recording or a folder: what it prints goes to the file
 * of --summary.
 */
#define OPTIONS_COMMON_SUMMARY(config, member)                                                     \
	OPT_ROWS(config, member, struct common_options, common_summary_rows)

/* Where the product of a command goes; its former names are aliases. */
#define OPTION_OUTPUT(config, member, ...)                                                         \
	OPT_STRING(config, member, .name = "output", .letter = 'o', .group = OPT_OUTPUT,         \
		   .file = true, __VA_ARGS__)

/* How long a run lasts; its former names are aliases. */
#define OPTION_FOR(config, member, ...)                                                            \
	OPT_DURATION(config, member, .name = "for", .letter = 'd', .group = OPT_STOP,          \
		     __VA_ARGS__)

extern const struct opt_choice time_choices[]; /* values of --time: enum times_style */

#define OPTION_TIME(config, member)                                                                \
	OPT_CHOICE(config, member, .name = "time", .group = OPT_OUTPUT, .rare = true,              \
		   .choices = time_choices,                                                        \
		   .help = "Clock by which points in time are printed (default: wall, if the "     \
			   "recording contains the realtime clock)")

/* Returns whether text written to descriptor `fd` is colored. */
bool common_color(const struct common_options *common, int fd);

/* Applies --quiet to the log. Each run function with common options calls this function first. */
void common_begin(const struct common_options *common);

/* Returns the command of this name. If unknown, logs similar names and returns NULL. */
const struct command *command_find(const struct command *const *table, const char *name);

/* Writes the output of `hostlat NAME --help`, or with `all` of `hostlat NAME --help-all`. */
void command_help(const struct command *command, bool all, struct strbuf *out);

/* Writes the output of `hostlat --help`. */
void command_overview(const struct command *const *table, struct strbuf *out);

/* Prints `text` on stdout and releases it. Returns EXIT_OK or, after a message, EXIT_CANNOT. */
int command_print(struct strbuf *text);

/* Runs the command that `argv` of main() names. Returns the exit code. */
int dispatch(const struct command *const *table, int argc, char **argv);

#endif
