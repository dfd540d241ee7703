/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the user, on stderr, as one line "hostlat: ...". Only src/cmd calls these functions
 * (and probe's forwarder of libbpf's messages); library code returns an error instead.
 */
#ifndef HOSTLAT_BASE_LOG_H
#define HOSTLAT_BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERROR,   /* the command cannot do its task */
	LOG_LEVEL_WARNING, /* the command can do only a part of its task */
	LOG_LEVEL_INFO,    /* progress, e.g. "measuring"; dropped by --quiet */
};

/* Messages above this level are dropped. Before the first call it is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

struct strbuf;

/*
 * From now on, errors and warnings are appended to `text`, a sentence each, instead of stderr; NULL
 * ends that. For a command that tries again: it decides which failures are new.
 */
void log_divert(struct strbuf *text);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
