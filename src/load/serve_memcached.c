/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcached's ASCII protocol (doc/protocol.txt of memcached), without storage: values are skipped.
 * A get with several keys returns a value for the first key; the others are misses.
 */
#include "load/serve_memcached.h"

#include "base/bug.h"
#include "load/serve_line.h"
#include "load/text.h"

#define WORDS_MAX 8

enum serve_memcached_kind { VALUE, VALUE_CAS, VALUE_META };

/* Commands whose reply is fixed. */
static const struct serve_memcached_command {
	const char *name, *text;
	bool key;
	size_t size_at; /* index of the word with the data's size; 0: no data follows */
	bool last;
} commands[] = {
	{ "set", "STORED\r\n", true, 4, false },
	{ "add", "STORED\r\n", true, 4, false },
	{ "replace", "STORED\r\n", true, 4, false },
	{ "append", "STORED\r\n", true, 4, false },
	{ "prepend", "STORED\r\n", true, 4, false },
	{ "cas", "STORED\r\n", true, 4, false },
	{ "delete", "DELETED\r\n", true, 0, false },
	{ "ms", "HD\r\n", true, 2, false },
	{ "md", "HD\r\n", true, 0, false },
	{ "mn", "MN\r\n", false, 0, false },
	{ "touch", "TOUCHED\r\n", true, 0, false },
	{ "flush_all", "OK\r\n", false, 0, false },
	{ "verbosity", "OK\r\n", false, 0, false },
	{ "version", "VERSION hostlat\r\n", false, 0, false },
	{ "stats", "END\r\n", false, 0, false },
	{ "quit", "", false, 0, true },
};

static void serve_memcached_refuse(struct serve_request *out, const char *text)
{
	out->text = text;
	out->service_ns = 0;
}

static void serve_memcached_parse_command(const struct serve_memcached_command *c,
					  const struct serve_word *words, size_t n, uint64_t *skip,
					  struct serve_request *out)
{
	uint64_t size = 0;

	if ((c->key && (n < 2 || words[1].len > SERVE_KEY_MAX)) ||
	    (c->size_at &&
	     (n <= c->size_at || serve_number(&words[c->size_at], SERVE_BODY_MAX, &size)))) {
		serve_memcached_refuse(out, "CLIENT_ERROR bad command line format\r\n");
		return;
	}
	out->text = c->text;
	out->silent = c->last || serve_word_is(&words[n - 1], "noreply");
	out->last = c->last;
	*skip = c->size_at ? size + 2 : 0;
}

int serve_memcached_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
			  uint64_t *skip, struct serve_request *out)
{
	struct serve_word words[WORDS_MAX];
	ssize_t line = serve_line(state, data, size);
	size_t n;

	if (line < 0)
		out->text = "CLIENT_ERROR line too long\r\n";
	if (line <= 0)
		return (int)line;
	*used = (size_t)line;
	out->service_ns = SERVE_DRAWN;
	n = serve_words(data, (size_t)line, words, WORDS_MAX);
	if (n >= 2 && words[1].len <= SERVE_KEY_MAX &&
	    (serve_word_is(&words[0], "get") || serve_word_is(&words[0], "gets"))) {
		out->kind = words[0].len == 3 ? VALUE : VALUE_CAS;
		serve_keep_key(out, words[1].at, words[1].len);
		return 1;
	}
	if (n >= 2 && words[1].len <= SERVE_KEY_MAX && serve_word_is(&words[0], "mg")) {
		out->kind = VALUE_META;
		return 1;
	}
	for (size_t i = 0; n && i < ARRAY_LEN(commands); i++) {
		if (serve_word_is(&words[0], commands[i].name)) {
			serve_memcached_parse_command(&commands[i], words, n, skip, out);
			return 1;
		}
	}
	serve_memcached_refuse(out, "ERROR\r\n");
	return 1;
}

/* Writes the reply to "mg KEY v"; other flags of the request are ignored. */
static void serve_memcached_write_meta(const struct serve_settings *settings, char *to,
				       struct serve_reply *out)
{
	char *p = to;

	if (!settings->reply_size) {
		out->head = (size_t)(TEXT_PUT(p, "EN\r\n") - to);
		return;
	}
	p = TEXT_PUT(p, "VA ");
	p = text_put_u64(p, settings->reply_size);
	p = TEXT_PUT(p, "\r\n");
	out->head = (size_t)(p - to);
	out->fill = settings->reply_size;
	out->tail = "\r\n";
}

void serve_memcached_write(const struct serve_settings *settings,
			   const struct serve_request *request, char *to, struct serve_reply *out)
{
	char *p = to;

	*out = (struct serve_reply){ 0 };
	if (request->kind == VALUE_META) {
		serve_memcached_write_meta(settings, to, out);
		return;
	}
	if (!settings->reply_size) {
		out->head = (size_t)(TEXT_PUT(p, "END\r\n") - to);
		return;
	}
	p = TEXT_PUT(p, "VALUE ");
	p = text_put(p, request->key, request->key_len);
	p = TEXT_PUT(p, " 0 ");
	p = text_put_u64(p, settings->reply_size);
	if (request->kind == VALUE_CAS)
		p = TEXT_PUT(p, " 1");
	p = TEXT_PUT(p, "\r\n");
	out->head = (size_t)(p - to);
	out->fill = settings->reply_size;
	out->tail = "\r\nEND\r\n";
}
