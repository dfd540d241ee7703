/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes any text through every parser of numbers and addresses, and as a command line through the
 * option parser. What is accepted must survive being written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/opt_parse.h"
#include "base/parse.h"

#define WORDS_MAX 16

struct config {
	uint64_t interval_ns, count, memory, layers;
	double share;
	const char *file;
	bool flag;
	struct opt_list rest;
};

static const struct opt_choice layers[] = {
	{ "link", 1, NULL },
	{ "read", 2, NULL },
	{ NULL, 0, NULL },
};

static const struct opt rows[] = {
	OPT_DURATION(struct config, interval_ns, .name = "interval", .letter = 'i', .def = "1s",
		     .min = NS_PER_MS, .max = NS_PER_DAY, .help = "Time"),
	OPT_U64(struct config, count, .name = "count", .letter = 'n', .help = "Number"),
	OPT_SIZE(struct config, memory, .name = "memory", .max = 1 << 30, .help = "Size"),
	OPT_SET(struct config, layers, .name = "layers", .choices = layers, .help = "Set"),
	OPT_FRACTION(struct config, share, .name = "share", .help = "Fraction"),
	OPT_STRING(struct config, file, .name = "file", .letter = 'f', .help = "String"),
	OPT_FLAG(struct config, flag, .name = "flag", .letter = 'a', .help = "Flag"),
	OPT_LIST(struct config, rest, .name = "REST", .positional = true, .help = "Words"),
	OPT_END,
};

static void check_number(const char *text, int (*parse)(const char *, uint64_t *),
			 void (*format)(struct strbuf *, uint64_t))
{
	struct strbuf again = STRBUF_INIT(64);
	uint64_t value, back;

	if (parse(text, &value) == 0) {
		format(&again, value);
		BUG_ON(parse(strbuf_str(&again), &back) || back != value);
	}
	strbuf_release(&again);
}

/* The words are the lines of the text. */
static void check_options(char *text)
{
	struct strbuf error = STRBUF_INIT(1 << 20);
	struct config config = { 0 };
	char *words[WORDS_MAX];
	int n = 0, result;

	for (char *word; n < WORDS_MAX && (word = strsep(&text, "\n")) != NULL;)
		words[n++] = word;
	result = opt_parse(rows, &config, n, words, &error);
	BUG_ON((result < 0) != (error.len > 0));
	if (result == OPT_PARSED) {
		BUG_ON(config.interval_ns < NS_PER_MS || config.interval_ns > NS_PER_DAY);
		BUG_ON(config.memory > 1 << 30);
		BUG_ON(!(config.share >= 0 && config.share <= 1));
	}
	strbuf_release(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_storage address;
	char *text = strndup((const char *)data, size);
	uint64_t number;
	double fraction;

	BUG_ON(!text);
	check_number(text, parse_duration, format_duration);
	check_number(text, parse_size, format_size);
	(void)parse_u64(text, &number);
	if (parse_fraction(text, &fraction) == 0)
		BUG_ON(!(fraction >= 0 && fraction <= 1));
	if (parse_endpoint(text, &address) == 0)
		BUG_ON(address.ss_family != AF_INET && address.ss_family != AF_INET6);
	check_options(text);
	free(text);
	return 0;
}
