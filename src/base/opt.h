/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as data. A command's options are one const array of rows; parsing, --help, the man page
 * and shell completion are all made from it. A row names a member of the command's config struct,
 * and a member of another type than the row's does not compile.
 *
 *	struct ping_config {
 *		uint64_t interval_ns;
 *		const char *host;
 *		struct common_options common;
 *	};
 *
 *	static const struct opt ping_options[] = {
 *		OPT_DURATION(struct ping_config, interval_ns, .name = "interval", .letter = 'i',
 *			     .def = "1s", .min = 10 * NS_PER_MS, .max = NS_PER_DAY,
 *			     .help = "Time between two requests"),
 *		OPT_STRING(struct ping_config, host, .name = "HOST", .positional = true,
 *			   .required = true, .help = "Host to ask"),
 *		OPTIONS_COMMON(struct ping_config, common),
 *		OPT_END,
 *	};
 *
 * The config never owns memory: strings point into argv or into the rows. A member whose option
 * was not given and has no default is left as it was (zero).
 */
#ifndef HOSTLAT_BASE_OPT_H
#define HOSTLAT_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPT_ROWS_MAX 96 /* option rows (struct opt) of one command, nested ones included, at most */
#define OPT_LIST_MAX 64 /* values of one repeatable option, at most */
#define OPT_FILES_MAX 4096 /* files of one OPT_FILES argument, at most */

enum opt_type {
	OPT_TYPE_END,
	OPT_TYPE_FLAG,     /* config member: bool */
	OPT_TYPE_U64,      /* config member: uint64_t */
	OPT_TYPE_DURATION, /* config member: uint64_t, in nanoseconds */
	OPT_TYPE_SIZE,     /* config member: uint64_t, in bytes */
	OPT_TYPE_FRACTION, /* config member: double, 0 to 1 */
	OPT_TYPE_PERCENT,  /* config member: double between 0 and 1, typed as a percentage */
	OPT_TYPE_RATE,     /* config member: double, per second, > 0 */
	OPT_TYPE_ONE_IN,   /* config member: uint64_t, the N of 1/N */
	OPT_TYPE_STRING,   /* config member: const char *, never empty */
	OPT_TYPE_CHOICE,   /* config member: uint32_t, the value of one choice */
	OPT_TYPE_SET,      /* config member: uint64_t, the or-ed values of a list of choices */
	OPT_TYPE_LIST,     /* config member: struct opt_list; the option may be repeated */
	/* config member: struct opt_files; a positional argument that takes all remaining words */
	OPT_TYPE_FILES,
	OPT_TYPE_ROWS,     /* config member: a struct, described by nested option rows */
};

/* Heading of help under which an option stands, in this order. */
enum opt_group {
	OPT_GROUP_NONE, /* commands with few options need no headings */
	OPT_TARGET,     /* the object of the measurement, and the way to it */
	OPT_LOAD,       /* requests, or how a server answers them */
	OPT_MEASURE,
	OPT_STOP,
	OPT_OUTPUT,
	OPT_GROUPS,
};

/* A valid value of an option. The last choice of an array has a NULL name. */
struct opt_choice {
	const char *name;
	/* value that the config member gets; OPT_SET: a mask, so that "all" can set several bits */
	uint64_t value;
	const char *help; /* may be NULL */
};

struct opt_list {
	const char *items[OPT_LIST_MAX];
	uint32_t len;
};

struct opt_files {
	const char *items[OPT_FILES_MAX];
	uint32_t len;
};

struct opt {
	enum opt_type type;
	const char *name;    /* option: name without dashes; positional: name in help */
	char letter;         /* letter of the short option; 0: none */
	/* former names and letters, "max-time,d": accepted, but not shown in help; NULL: none */
	const char *aliases;
	bool positional;     /* positional argument; if OPT_LIST, it takes all remaining words */
	bool words;          /* OPT_LIST that is an option: it takes all words up to the next one */
	bool required;
	enum opt_group group;
	bool rare;           /* shown by --help-all, not by --help */
	bool hidden;         /* not for users: accepted, and shown nowhere */
	bool file;           /* the value is a path, for shell completion */
	size_t offset;       /* offset of the member in the config, in bytes */
	const char *metavar; /* word for the value in help; NULL: the usual word of the type */
	const char *help;    /* sentence without its dot; range and default are appended */
	const char *def;     /* default as a user would type it; NULL: none */
	uint64_t min, max;   /* limits of a number in the member's unit; max 0: no upper limit */
	const struct opt_choice *choices;
	/*
	 * OPT_CHOICE that is an action: for each choice, the names of the arguments and options
	 * that have an effect with it, "a,b"; other options are refused. NULL: all have one.
	 */
	const char *const *takes;
	const char *excludes;   /* names of options, "a,b", that cannot be combined with this one */
	/* OPT_TYPE_ROWS: option rows for the struct that is the config member */
	const struct opt *rows;
	const char *fact;    /* key under which a recording stores the value; NULL: not stored */
};

/* Returns whether the option or argument takes several words. */
static inline bool opt_repeats(const struct opt *row)
{
	return row->type == OPT_TYPE_LIST || row->type == OPT_TYPE_FILES;
}

#define OPT_ROW(row_type, member_type, config, member, ...)                                        \
	{                                                                                          \
		.type = row_type,                                                                  \
		.offset = offsetof(config, member) +                                               \
			  0 * sizeof(struct {                                                      \
				  _Static_assert(                                                  \
					  __builtin_types_compatible_p(                            \
						  member_type, __typeof__(((config *)0)->member)), \
					  "the member " #member " is not a " #member_type);        \
				  int unused;                                                      \
			  }),                                                                      \
		__VA_ARGS__                                                                        \
	}

#define OPT_FLAG(config, member, ...) OPT_ROW(OPT_TYPE_FLAG, bool, config, member, __VA_ARGS__)
#define OPT_U64(config, member, ...) OPT_ROW(OPT_TYPE_U64, uint64_t, config, member, __VA_ARGS__)
#define OPT_DURATION(config, member, ...)                                                          \
	OPT_ROW(OPT_TYPE_DURATION, uint64_t, config, member, __VA_ARGS__)
#define OPT_SIZE(config, member, ...) OPT_ROW(OPT_TYPE_SIZE, uint64_t, config, member, __VA_ARGS__)
#define OPT_FRACTION(config, member, ...)                                                          \
	OPT_ROW(OPT_TYPE_FRACTION, double, config, member, __VA_ARGS__)
#define OPT_PERCENT(config, member, ...)                                                           \
	OPT_ROW(OPT_TYPE_PERCENT, double, config, member, __VA_ARGS__)
#define OPT_RATE(config, member, ...) OPT_ROW(OPT_TYPE_RATE, double, config, member, __VA_ARGS__)
#define OPT_ONE_IN(config, member, ...)                                                            \
	OPT_ROW(OPT_TYPE_ONE_IN, uint64_t, config, member, __VA_ARGS__)
#define OPT_STRING(config, member, ...)                                                            \
	OPT_ROW(OPT_TYPE_STRING, const char *, config, member, __VA_ARGS__)
#define OPT_CHOICE(config, member, ...)                                                            \
	OPT_ROW(OPT_TYPE_CHOICE, uint32_t, config, member, __VA_ARGS__)
#define OPT_SET(config, member, ...) OPT_ROW(OPT_TYPE_SET, uint64_t, config, member, __VA_ARGS__)
#define OPT_LIST(config, member, ...)                                                              \
	OPT_ROW(OPT_TYPE_LIST, struct opt_list, config, member, __VA_ARGS__)
#define OPT_FILES(config, member, ...)                                                             \
	OPT_ROW(OPT_TYPE_FILES, struct opt_files, config, member, .positional = true,              \
		.file = true, __VA_ARGS__)

/*
 * Option rows shared by several commands: `member` of `config` is a struct whose options the rows
 * `nested` describe.
 */
#define OPT_ROWS(config, member, member_type, nested)                                              \
	OPT_ROW(OPT_TYPE_ROWS, member_type, config, member, .rows = nested)

#define OPT_END { .type = OPT_TYPE_END }

#endif
