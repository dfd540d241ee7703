/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RESP2 (redis.io/docs/reference/protocol-spec): arrays of bulk strings, and inline commands.
 * Arguments that the reply does not need are skipped, whatever their length.
 */
#include "load/serve_redis.h"

#include "base/bug.h"
#include "load/serve_line.h"
#include "load/text.h"

#define ARGS_MAX (1 << 20)
#define NAME_MAX_BYTES 32

enum serve_redis_kind { VALUE, REPEATED, SETTING };

static const struct serve_redis_command {
	const char *name, *text;
	uint8_t kind;
	uint8_t repeated; /* index of the argument that the reply repeats; 0: none */
	bool last;
} commands[] = {
	{ .text = "-ERR unknown command\r\n" },
	{ .name = "get", .kind = VALUE },
	{ .name = "set", .text = "+OK\r\n" },
	{ .name = "ping", .text = "+PONG\r\n", .kind = REPEATED, .repeated = 1 },
	{ .name = "echo", .kind = REPEATED, .repeated = 1 },
	{ .name = "mset", .text = "+OK\r\n" },
	{ .name = "del", .text = ":1\r\n" },
	{ .name = "incr", .text = ":1\r\n" },
	{ .name = "config", .kind = SETTING, .repeated = 2 },
	{ .name = "command", .text = "*0\r\n" },
	{ .name = "client", .text = "+OK\r\n" },
	{ .name = "select", .text = "+OK\r\n" },
	{ .name = "quit", .text = "+OK\r\n", .last = true },
};

static void serve_redis_find_command(struct serve_state *state, const struct serve_word *name,
				     struct serve_request *out)
{
	const struct serve_redis_command *c = commands;

	for (size_t i = 1; i < ARRAY_LEN(commands) && c == commands; i++) {
		if (serve_word_is(name, commands[i].name))
			c = &commands[i];
	}
	state->command = (uint8_t)(c - commands);
	out->text = c->text;
	out->kind = c->kind;
	out->last = c->last;
	out->service_ns = c == commands ? 0 : SERVE_DRAWN;
}

/* Stores the argument that the reply repeats. PING's argument is optional. */
static void serve_redis_repeat(const struct serve_word *arg, struct serve_request *out)
{
	out->text = NULL;
	serve_keep_key(out, arg->at, arg->len);
}

static int serve_redis_refuse(struct serve_request *out, const char *text)
{
	out->text = text;
	return -EPROTO;
}

static int serve_redis_parse_inline(struct serve_state *state, const char *line, size_t len,
				    struct serve_request *out)
{
	struct serve_word words[3];
	size_t n = serve_words(line, len, words, ARRAY_LEN(words));
	const struct serve_redis_command *c;

	if (!n)
		return 0;
	serve_redis_find_command(state, &words[0], out);
	c = &commands[state->command];
	if (c->repeated && c->repeated < n)
		serve_redis_repeat(&words[c->repeated], out);
	return 1;
}

/* Parses the number of arguments, such as "*3\r\n". */
static int serve_redis_parse_count(struct serve_state *state, const char *line, size_t len,
				   struct serve_request *out)
{
	struct serve_word word;
	uint64_t count;

	if (serve_words(line + 1, len - 1, &word, 1) != 1 || serve_number(&word, ARGS_MAX, &count))
		return serve_redis_refuse(out, "-ERR Protocol error: invalid multibulk length\r\n");
	state->left = (uint32_t)count;
	state->index = 0;
	return 0;
}

/* Parses an argument's size, such as "$5\r\n", and the argument, if the reply needs it. */
static int serve_redis_parse_arg(struct serve_state *state, const char *data, size_t size,
				 size_t line, size_t *used, uint64_t *skip,
				 struct serve_request *out)
{
	bool repeats = state->index && state->index == commands[state->command].repeated;
	struct serve_word word;
	uint64_t len;

	if (data[0] != '$' || serve_words(data + 1, line - 1, &word, 1) != 1 ||
	    serve_number(&word, SERVE_BODY_MAX, &len))
		return serve_redis_refuse(out, "-ERR Protocol error: invalid bulk length\r\n");
	if ((!state->index && len <= NAME_MAX_BYTES) || (repeats && len <= SERVE_KEY_MAX)) {
		if (size < line + len + 2)
			return 0;
		word = (struct serve_word){ data + line, len };
		if (repeats)
			serve_redis_repeat(&word, out);
		else
			serve_redis_find_command(state, &word, out);
		*used = line + len + 2;
	} else {
		if (!state->index)
			serve_redis_find_command(state, &(struct serve_word){ "", 0 }, out);
		*used = line;
		*skip = len + 2;
	}
	state->index++;
	return --state->left == 0;
}

int serve_redis_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		      uint64_t *skip, struct serve_request *out)
{
	ssize_t line = serve_line(state, data, size);

	if (line <= 0)
		return line ? serve_redis_refuse(out,
						 "-ERR Protocol error: too big inline request\r\n")
			    : 0;
	if (state->left)
		return serve_redis_parse_arg(state, data, size, (size_t)line, used, skip, out);
	*used = (size_t)line;
	if (data[0] == '*')
		return serve_redis_parse_count(state, data, (size_t)line, out);
	return serve_redis_parse_inline(state, data, (size_t)line, out);
}

static char *put_bulk(char *p, const char *from, size_t len)
{
	p = TEXT_PUT(p, "$");
	p = text_put_u64(p, len);
	p = TEXT_PUT(p, "\r\n");
	p = text_put(p, from, len);
	return TEXT_PUT(p, "\r\n");
}

void serve_redis_write(const struct serve_settings *settings, const struct serve_request *request,
		       char *to, struct serve_reply *out)
{
	char *p = to;

	*out = (struct serve_reply){ 0 };
	if (request->kind == REPEATED) {
		p = put_bulk(p, request->key, request->key_len);
	} else if (request->kind == SETTING) {
		p = TEXT_PUT(p, "*2\r\n");
		p = put_bulk(p, request->key, request->key_len);
		p = put_bulk(p, "", 0);
	} else if (!settings->reply_size) {
		p = TEXT_PUT(p, "$-1\r\n");
	} else {
		p = TEXT_PUT(p, "$");
		p = text_put_u64(p, settings->reply_size);
		p = TEXT_PUT(p, "\r\n");
		out->fill = settings->reply_size;
		out->tail = "\r\n";
	}
	out->head = (size_t)(p - to);
}
