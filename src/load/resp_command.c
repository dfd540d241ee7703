/* SPDX-License-Identifier: Apache-2.0 */
#include "load/resp_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"
#include "load/resp_key.h"
#include "load/template.h"
#include "load/text.h"

#define WORDS_MAX 256
#define WEIGHT_MAX 1000000
#define WEIGHT_DIGITS 7
#define FRAME_ROOM 24 /* "$", the digits of a size and two line ends */
#define BLANKS " \t"

/* A part of a request: encoded words, or a word whose size depends on its placeholders. */
struct resp_part {
	struct template text;
	uint32_t values; /* number of {value} */
	bool is_word;
};

struct resp_parts VEC_OF(struct resp_part);

struct resp_command {
	double until;      /* cumulative share: a draw below selects the command */
	uint64_t weight;
	struct resp_parts parts;
	uint32_t uses;     /* mask of placeholders: bits of enum template_kind */
	uint32_t values;   /* number of {value} */
	size_t size_max;   /* largest size of a request without its values */
	bool has_key;
	struct template key; /* the first key, if there is one */
	uint32_t key_part;   /* index of the part that has the first key */
};

struct resp_commands {
	uint32_t n;
	struct resp_command list[OPT_LIST_MAX];
};

/* ---- words ---- */

struct resp_words VEC_OF(struct strbuf);

struct resp_text {
	const char *text, *p;
	struct strbuf *why;
};

static int resp_text_refuse(const struct resp_text *t, const char *what)
{
	strbuf_printf(t->why, "--command: %s: '%.200s'", what, t->text);
	return -EINVAL;
}

/* Reads an escape in double quotes; t->p is behind its '\'. Other escapes stay as they are. */
static int resp_text_escape(struct resp_text *t, struct strbuf *word)
{
	static const char from[] = "nrt\"\\", to[] = "\n\r\t\"\\";
	const char *known = *t->p ? strchr(from, *t->p) : NULL;
	int high, low;

	if (known) {
		strbuf_putc(word, to[known - from]);
		t->p++;
		return 0;
	}
	if (*t->p != 'x') {
		strbuf_putc(word, '\\');
		return 0;
	}
	high = text_hex_digit(t->p[1]);
	low = high < 0 ? -1 : text_hex_digit(t->p[2]);
	if (low < 0)
		return resp_text_refuse(t, "\\x needs two hexadecimal digits");
	strbuf_putc(word, (char)(high << 4 | low));
	t->p += 3;
	return 0;
}

/* Reads up to the closing quote; t->p is behind the opening one. */
static int resp_text_quoted(struct resp_text *t, char quote, struct strbuf *word)
{
	int err = 0;

	while (!err && *t->p && *t->p != quote) {
		const char c = *t->p++;

		if (c == '\\' && quote == '"')
			err = resp_text_escape(t, word);
		else
			strbuf_putc(word, c);
	}
	if (!err && !*t->p)
		return resp_text_refuse(t, "a quote is not closed");
	t->p += !err;
	return err;
}

/* Reads the word at t->p. */
static int resp_text_word(struct resp_text *t, struct strbuf *word)
{
	int err = 0;

	while (!err && *t->p && !strchr(BLANKS, *t->p)) {
		const char c = *t->p++;

		if (c == '"' || c == '\'') {
			err = resp_text_quoted(t, c, word);
		} else if (c == '\\' && *t->p && *t->p != '{') {
			strbuf_putc(word, *t->p++);
		} else {
			strbuf_putc(word, c); /* "\{" is an escape of templates */
		}
	}
	return err ? err : word->error;
}

static void resp_words_release(struct resp_words *words)
{
	vec_for_each(words, word)
		strbuf_release(word);
	vec_release(words);
}

static int resp_words_read(struct resp_text *t, struct resp_words *words)
{
	int err = 0;

	for (t->p += strspn(t->p, BLANKS); !err && *t->p; t->p += strspn(t->p, BLANKS)) {
		struct strbuf word = STRBUF_INIT(RESP_COMMAND_TEXT_MAX + 1);

		err = resp_text_word(t, &word);
		if (!err)
			err = vec_push(words, word);
		if (err)
			strbuf_release(&word);
	}
	if (err == -E2BIG)
		return resp_text_refuse(t, "more than 256 words");
	if (!err && !words->len)
		return resp_text_refuse(t, "there is no command");
	return err;
}

/* ---- parsing ---- */

/* Refuses commands that are not answered by exactly one reply. */
static int resp_words_check(const struct resp_text *t, const struct resp_words *words)
{
	static const char *const names[] = {
		"subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe",
		"sunsubscribe", "monitor", "sync", "psync", "hello", "quit", "reset",
	};
	const char *name = strbuf_str(&words->items[0]);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcasecmp(name, names[i]) == 0)
			return resp_text_refuse(t, "it changes how the server replies");
	}
	if (words->len > 1 && strcasecmp(name, "client") == 0 &&
	    strcasecmp(strbuf_str(&words->items[1]), "reply") == 0)
		return resp_text_refuse(t, "it changes how the server replies");
	return 0;
}

/* Returns the last part, a new one if the last one has the other form; NULL: no memory. */
static struct resp_part *resp_command_part(struct resp_command *c, bool is_word)
{
	struct resp_part part = { .is_word = is_word };

	if (c->parts.len && !is_word && !vec_last(&c->parts)->is_word)
		return vec_last(&c->parts);
	template_init(&part.text, 8 * RESP_COMMAND_TEXT_MAX);
	return vec_push(&c->parts, part) ? NULL : vec_last(&c->parts);
}

/* Adds encoded bytes, which are the same in all requests. */
static int resp_command_add_text(struct resp_command *c, const char *text, size_t size)
{
	struct resp_part *part = resp_command_part(c, false);

	if (!part)
		return -ENOMEM;
	template_add(&part->text, text, size);
	return template_error(&part->text);
}

static int resp_command_add_header(struct resp_command *c, char kind, size_t number)
{
	char text[FRAME_ROOM], *p = text;

	*p++ = kind;
	p = text_put_u64(p, number);
	p = TEXT_PUT(p, "\r\n");
	return resp_command_add_text(c, text, (size_t)(p - text));
}

/* Adds a word: encoded, or as a template if it has placeholders. */
static int resp_command_add_word(struct resp_command *c, const struct strbuf *word,
				 struct strbuf *why)
{
	struct resp_part part = { .is_word = true };
	int err;

	template_init(&part.text, RESP_COMMAND_TEXT_MAX + 1);
	err = template_parse(&part.text, strbuf_str(word), word->len, "--command", why);
	if (err || part.text.uses & ~(1U << TEMPLATE_TEXT)) {
		vec_for_each(&part.text.parts, at)
			part.values += at->kind == TEMPLATE_VALUE;
		err = err ? err : vec_push(&c->parts, part);
		if (err)
			template_release(&part.text);
		return err;
	}
	err = resp_command_add_header(c, '$', part.text.text.len);
	if (!err && part.text.text.len)
		err = resp_command_add_text(c, strbuf_str(&part.text.text), part.text.text.len);
	template_release(&part.text);
	return err ? err : resp_command_add_text(c, "\r\n", 2);
}

static int resp_command_add_words(struct resp_command *c, const struct resp_words *words,
				  struct strbuf *why)
{
	const size_t key = resp_key_find(words->items, words->len);
	int err = resp_command_add_header(c, '*', words->len);

	for (size_t i = 0; !err && i < words->len; i++) {
		const struct strbuf *word = &words->items[i];

		err = resp_command_add_word(c, word, why);
		if (err || !i || i != key)
			continue;
		err = template_parse(&c->key, strbuf_str(word), word->len, "--command", why);
		c->key_part = (uint32_t)c->parts.len - 1;
		c->has_key = true;
	}
	vec_for_each(&c->parts, part) {
		c->uses |= part->text.uses;
		c->values += part->values;
		c->size_max += part->text.size_max + FRAME_ROOM;
	}
	return err;
}

/* Reads "WEIGHT:" at t->p. Returns 0 or -EINVAL. */
static int resp_text_weight(struct resp_text *t, uint64_t *weight)
{
	const size_t digits = strspn(t->p, "0123456789");
	char text[WEIGHT_DIGITS + 1] = "";

	*weight = 1;
	if (!digits || t->p[digits] != ':')
		return 0;
	memcpy(text, t->p, digits > WEIGHT_DIGITS ? 0 : digits);
	if (parse_u64(text, weight) || !*weight || *weight > WEIGHT_MAX)
		return resp_text_refuse(t, "a weight is a number from 1 to 1000000");
	t->p += digits + 1;
	return 0;
}

static int resp_command_parse(struct resp_command *c, const char *text, struct strbuf *why)
{
	struct resp_text t = { .text = text, .p = text, .why = why };
	struct resp_words words;
	int err;

	vec_init(&words, WORDS_MAX);
	vec_init(&c->parts, 2 * WORDS_MAX + 1);
	template_init(&c->key, RESP_COMMAND_TEXT_MAX + 1);
	if (strlen(text) > RESP_COMMAND_TEXT_MAX)
		return resp_text_refuse(&t, "it is longer than 4096 bytes");
	if (strpbrk(text, "\r\n"))
		return resp_text_refuse(&t, "write a line end as \"\\n\", in double quotes");
	err = resp_text_weight(&t, &c->weight);
	if (!err)
		err = resp_words_read(&t, &words);
	if (!err)
		err = resp_words_check(&t, &words);
	if (!err)
		err = resp_command_add_words(c, &words, why);
	resp_words_release(&words);
	return err;
}

static void resp_commands_share(struct resp_commands *commands)
{
	uint64_t all = 0, until = 0;

	for (uint32_t i = 0; i < commands->n; i++)
		all += commands->list[i].weight;
	for (uint32_t i = 0; i < commands->n; i++) {
		until += commands->list[i].weight;
		commands->list[i].until = (double)until / (double)all;
	}
}

int resp_commands_new(struct resp_commands **out, const struct opt_list *texts,
		      struct strbuf *why)
{
	struct resp_commands *commands;
	int err = 0;

	*out = NULL;
	if (!texts->len)
		return 0;
	commands = calloc(1, sizeof(*commands));
	if (!commands)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < texts->len; i++) {
		commands->n++;
		err = resp_command_parse(&commands->list[i], texts->items[i], why);
	}
	if (err) {
		resp_commands_free(commands);
		return err;
	}
	resp_commands_share(commands);
	*out = commands;
	return 0;
}

void resp_commands_free(struct resp_commands *commands)
{
	for (uint32_t i = 0; commands && i < commands->n; i++) {
		vec_for_each(&commands->list[i].parts, part)
			template_release(&part->text);
		vec_release(&commands->list[i].parts);
		template_release(&commands->list[i].key);
	}
	free(commands);
}

uint32_t resp_commands_settings(const struct resp_commands *commands)
{
	uint32_t uses = 0, settings = 0;

	for (uint32_t i = 0; i < commands->n; i++)
		uses |= commands->list[i].uses;
	if (uses >> TEMPLATE_KEY & 1)
		settings |= 1U << WORKLOAD_BASE | 1U << WORKLOAD_KEYS |
			    1U << WORKLOAD_POPULARITY | 1U << WORKLOAD_KEY;
	if (uses >> TEMPLATE_VALUE & 1)
		settings |= 1U << WORKLOAD_BASE | 1U << WORKLOAD_VALUE;
	return settings;
}

int resp_commands_size(const struct resp_commands *commands, const struct workload *workload,
		       size_t *size, struct strbuf *why)
{
	*size = 0;
	for (uint32_t i = 0; i < commands->n; i++) {
		const struct resp_command *c = &commands->list[i];
		const size_t one = c->size_max + c->values * workload_value_max(workload);

		*size = one > *size ? one : *size;
	}
	if (*size <= RESP_REQUEST_MAX)
		return 0;
	strbuf_puts(why, "--command: a request would be larger than 1 GiB; use smaller values");
	return -EINVAL;
}

/* ---- sending ---- */

static const struct resp_command *resp_commands_draw(const struct resp_commands *commands,
						     struct rng *rng)
{
	const struct resp_command *c = commands->list;
	double u;

	if (commands->n == 1)
		return c;
	u = rng_uniform(rng);
	while (u >= c->until && c < &commands->list[commands->n - 1])
		c++;
	return c;
}

static char *resp_part_put(char *p, const struct resp_part *part,
			   const struct template_values *values)
{
	if (!part->is_word)
		return text_put(p, part->text.text.buf, part->text.text.len);
	*p++ = '$';
	p = text_put_u64(p, template_size(&part->text, values));
	p = template_put(&part->text, values, TEXT_PUT(p, "\r\n"));
	return TEXT_PUT(p, "\r\n");
}

/* Draws a command and the values of its placeholders, of which `key` gets the key's text. */
static const struct resp_command *resp_commands_fill(const struct workload *w, struct rng *rng,
						     char key[WORKLOAD_KEY_MAX],
						     struct template_values *values)
{
	const struct resp_command *c = resp_commands_draw(w->commands, rng);

	values->key = key;
	values->value = workload_bytes(w);
	if (c->uses >> TEMPLATE_KEY & 1)
		values->key_size = workload_key_text(w, workload_key(w, rng), key);
	if (c->uses >> TEMPLATE_VALUE & 1)
		values->value_size = workload_value_size(w, rng);
	if (c->uses >> TEMPLATE_RANDOM & 1)
		values->random = rng_u64(rng);
	return c;
}

/* {random:N} in another part is another number. */
#define RANDOM_STEP 0x9e3779b97f4a7c15ULL

size_t resp_command_key(const struct workload *w, struct rng *rng, uint64_t number, char *to)
{
	struct template_values values = { .seq = number };
	char key[WORKLOAD_KEY_MAX];
	const struct resp_command *c = resp_commands_fill(w, rng, key, &values);

	if (!c->has_key)
		return 0;
	values.random += c->key_part * RANDOM_STEP;
	return (size_t)(template_put(&c->key, &values, to) - to);
}

int resp_command_encode(const struct workload *w, struct rng *rng, void *buffer, size_t cap,
			struct encoded_request *out)
{
	struct template_values values = { .seq = out->number };
	char key[WORKLOAD_KEY_MAX], *p = buffer;
	const struct resp_command *c = resp_commands_fill(w, rng, key, &values);

	if (cap < c->size_max + c->values * values.value_size)
		return -ENOBUFS;
	vec_for_each(&c->parts, part) {
		p = resp_part_put(p, part, &values);
		values.random += RANDOM_STEP;
	}
	out->size = (size_t)(p - (char *)buffer);
	out->type = (uint16_t)(OPERATION_COMMAND + (c - w->commands->list));
	return 0;
}
