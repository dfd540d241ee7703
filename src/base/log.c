/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the user, on stderr. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/progress.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define MESSAGE_MAX 4096

static enum log_level log_limit = LOG_LEVEL_INFO;
static struct strbuf *log_diverted; /* NULL: messages go to stderr */

static const char *const level_prefix[] = {
	[LOG_LEVEL_ERROR] = "hostlat: ",
	[LOG_LEVEL_WARNING] = "hostlat: warning: ",
	[LOG_LEVEL_INFO] = "hostlat: ",
};

void log_set_level(enum log_level level)
{
	log_limit = level;
}

void log_divert(struct strbuf *text)
{
	log_diverted = text;
}

/*
 * Writes a message by one call, so that lines of several threads do not mix. Replaces control
 * characters, as messages quote names from recordings and other hosts.
 */
__attribute__((format(printf, 2, 0)))
static void log_message(enum log_level level, const char *format, va_list args)
{
	struct strbuf text = STRBUF_INIT(MESSAGE_MAX);
	struct strbuf line = STRBUF_INIT(2 * MESSAGE_MAX);

	if (level > log_limit)
		return;
	strbuf_vprintf(&text, format, args);
	if (log_diverted && level <= LOG_LEVEL_WARNING) {
		strbuf_puts(log_diverted, log_diverted->len ? "; " : "");
		utf8_put_clean(log_diverted, strbuf_str(&text));
		strbuf_release(&text);
		return;
	}
	strbuf_puts(&line, level_prefix[level]);
	if (!text.error)
		utf8_put_clean(&line, strbuf_str(&text));
	if (text.error || line.error) {
		strbuf_reset(&line);
		strbuf_puts(&line, "hostlat: (a message is missing: it was too long, or memory "
				   "ran out)");
	}
	strbuf_putc(&line, '\n');
	progress_clear();
	fputs(strbuf_str(&line), stderr);
	strbuf_release(&line);
	strbuf_release(&text);
}

#define DEFINE_LOG(name, level)                                                                    \
	void name(const char *format, ...)                                                         \
	{                                                                                          \
		va_list args;                                                                      \
                                                                                                   \
		va_start(args, format);                                                            \
		log_message(level, format, args);                                                  \
		va_end(args);                                                                      \
	}

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warning, LOG_LEVEL_WARNING)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
