/* SPDX-License-Identifier: Apache-2.0 */
#include "load/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/arrival.h"
#include "load/interim.h"
#include "load/methods.h"
#include "load/protocol.h"
#include "load/scheduling.h"

enum fact_type { FACT_U32, FACT_U64, FACT_DOUBLE, FACT_FLAG, FACT_WORD, FACT_TEXT };

const char *const load_setup_loops[] = { "open", "closed", NULL };
const char *const load_setup_stamps[] = { "user", "kernel", "nic", NULL };
static const char *const roles[] = { "symmetric", "throughput", "latency", NULL };
#define METHOD_WORD(id, name, help, row) name,
static const char *const methods[] = { METHOD_ROWS(METHOD_WORD) NULL };

struct fact {
	const char *key;
	enum fact_type type;
	size_t offset;
	const char *const *words; /* type FACT_WORD: names of the values, indexed by value */
	enum {
		FACT_ALWAYS,
		FACT_LATER, /* recordings of earlier versions lack it */
		FACT_GIVEN, /* as FACT_LATER, and written only if not empty or 0 */
	} put;
};

#define FACT(type, member) type, offsetof(struct load_setup, member)

static const struct fact facts[] = {
	{ "load.rate", FACT(FACT_DOUBLE, config.rate), NULL, FACT_ALWAYS },
	{ "load.arrival", FACT(FACT_TEXT, arrival), NULL, FACT_ALWAYS },
	{ "load.loop", FACT(FACT_WORD, config.loop), load_setup_loops, FACT_ALWAYS },
	{ "load.timestamps", FACT(FACT_WORD, config.stamps), load_setup_stamps, FACT_ALWAYS },
	{ "load.role", FACT(FACT_WORD, config.role), roles, FACT_ALWAYS },
	{ "load.workload", FACT(FACT_TEXT, workload), NULL, FACT_ALWAYS },
	{ "load.connections", FACT(FACT_U32, config.connections), NULL, FACT_ALWAYS },
	{ "load.outstanding", FACT(FACT_U32, config.outstanding), NULL, FACT_ALWAYS },
	{ "load.threads", FACT(FACT_U32, config.threads), NULL, FACT_ALWAYS },
	{ "load.requests_per_connection", FACT(FACT_U64, config.requests_per_connection), NULL,
	  FACT_ALWAYS },
	{ "load.duration_ns", FACT(FACT_U64, config.duration_ns), NULL, FACT_ALWAYS },
	{ "load.timeout_ns", FACT(FACT_U64, config.timeout_ns), NULL, FACT_ALWAYS },
	{ "load.drain_ns", FACT(FACT_U64, config.drain_ns), NULL, FACT_ALWAYS },
	{ "load.seed", FACT(FACT_U64, config.seed), NULL, FACT_ALWAYS },
	{ "load.priority", FACT(FACT_WORD, config.priority), scheduling_priorities, FACT_LATER },
	{ "load.pin", FACT(FACT_FLAG, config.pin), NULL, FACT_ALWAYS },
	{ "load.spin", FACT(FACT_FLAG, config.spin), NULL, FACT_ALWAYS },
	{ "load.preload", FACT(FACT_FLAG, config.preload), NULL, FACT_ALWAYS },
	{ "load.insecure", FACT(FACT_FLAG, config.insecure), NULL, FACT_ALWAYS },
	{ "load.all_rate", FACT(FACT_DOUBLE, analysis.rate), NULL, FACT_ALWAYS },
	{ "load.agents", FACT(FACT_U32, analysis.agents), NULL, FACT_ALWAYS },
	{ "load.probes", FACT(FACT_U32, analysis.probes), NULL, FACT_ALWAYS },
	{ "load.method", FACT(FACT_WORD, analysis.method), methods, FACT_ALWAYS },
	{ "load.percentile", FACT(FACT_DOUBLE, analysis.percentile), NULL, FACT_ALWAYS },
	{ "load.ci_width_ns", FACT(FACT_U64, analysis.ci_width_ns), NULL, FACT_ALWAYS },
	{ "load.confidence", FACT(FACT_DOUBLE, analysis.confidence), NULL, FACT_ALWAYS },
	{ "load.max_time_ns", FACT(FACT_U64, analysis.max_time_ns), NULL, FACT_ALWAYS },
	{ "load.max_errors", FACT(FACT_DOUBLE, analysis.max_errors), NULL, FACT_ALWAYS },
	{ "load.ca", FACT(FACT_TEXT, ca), NULL, FACT_LATER },
	{ "load.cert", FACT(FACT_TEXT, cert), NULL, FACT_GIVEN },
	{ "load.expect", FACT(FACT_TEXT, expect), NULL, FACT_GIVEN },
	{ "load.excise", FACT(FACT_FLAG, analysis.excise), NULL, FACT_GIVEN },
	{ "load.abort_on", FACT(FACT_TEXT, abort_on), NULL, FACT_GIVEN },
	{ "load.bind", FACT(FACT_TEXT, bind), NULL, FACT_GIVEN },
	{ "load.urls", FACT(FACT_TEXT, urls_file), NULL, FACT_GIVEN },
	{ "load.spread", FACT(FACT_FLAG, config.spread), NULL, FACT_GIVEN },
	{ "load.replay", FACT(FACT_TEXT, replay), NULL, FACT_GIVEN },
	{ "load.rate_probed", FACT(FACT_DOUBLE, config.rate_probed), NULL, FACT_GIVEN },
};

_Static_assert(ARRAY_LEN(facts) <= 64, "a bit of `seen` for each fact");

/*
 * Copies the values that load and analysis config share to the analysis config, and points the load
 * config's strings at the setup's copies. Returns 0, or -errno with a sentence in `why`.
 */
static int connect_parts(struct load_setup *s, struct strbuf *why)
{
	s->analysis.loop = s->config.loop;
	s->analysis.first_look_ns = INTERIM_FIRST_NS;
	s->analysis.stamps = s->config.stamps;
	s->config.arrival = s->arrival;
	s->config.workload = *s->workload ? s->workload : NULL;
	s->config.ca_file = *s->ca ? s->ca : NULL;
	s->config.cert_file = *s->cert ? s->cert : NULL;
	s->config.expect = *s->expect ? s->expect : NULL;
	for (uint32_t i = 0; i < s->n_commands; i++)
		s->config.commands.items[i] = s->commands[i];
	if (s->n_commands)
		s->config.commands.len = s->n_commands;
	s->config.urls_file = *s->urls_file ? s->urls_file : NULL;
	s->config.bind = *s->bind ? s->bind : NULL;
	s->config.replay = *s->replay ? s->replay : NULL;
	s->config.abort_on = *s->abort_on ? s->abort_on : NULL;
	return abort_on_parse(s->config.abort_on, &s->analysis.abort_on, why) ?:
	       arrival_parse(s->arrival, &s->analysis.arrival, why);
}

static int copy_text(char to[LOAD_SETUP_TEXT_MAX], const char *text)
{
	size_t size = text ? strlen(text) + 1 : 1;

	if (size > LOAD_SETUP_TEXT_MAX)
		return -ENAMETOOLONG;
	memcpy(to, text ? text : "", size);
	return 0;
}

int load_setup_init(struct load_setup *setup, const struct load_config *config,
		    const struct load_analysis_config *analysis, struct strbuf *why)
{
	const struct {
		char *to;
		const char *text;
	} texts[] = {
		{ setup->arrival, config->arrival },   { setup->workload, config->workload },
		{ setup->ca, config->ca_file },	       { setup->cert, config->cert_file },
		{ setup->expect, config->expect },     { setup->abort_on, config->abort_on },
		{ setup->bind, config->bind },	       { setup->urls_file, config->urls_file },
		{ setup->replay, config->replay },
	};
	int err = 0;

	*setup = (struct load_setup){ .config = *config, .analysis = *analysis };
	for (size_t i = 0; !err && i < ARRAY_LEN(texts); i++)
		err = copy_text(texts[i].to, texts[i].text);
	if (err)
		strbuf_puts(why, "a name is too long");
	return err ? err : connect_parts(setup, why);
}

/* ---- facts ---- */

static void setup_put_value(const struct fact *f, const void *member, struct strbuf *out)
{
	switch (f->type) {
	case FACT_U32:
		strbuf_printf(out, "%" PRIu32, *(const uint32_t *)member);
		return;
	case FACT_U64:
		strbuf_printf(out, "%" PRIu64, *(const uint64_t *)member);
		return;
	case FACT_DOUBLE: /* 17 digits preserve every bit */
		strbuf_printf(out, "%.17g", *(const double *)member);
		return;
	case FACT_FLAG:
		strbuf_puts(out, *(const bool *)member ? "1" : "0");
		return;
	case FACT_WORD:
		strbuf_puts(out, f->words[*(const uint32_t *)member]);
		return;
	case FACT_TEXT:
		strbuf_puts(out, member);
		return;
	}
}

int load_setup_put(const struct load_setup *setup, struct event_sink *sink, uint64_t now)
{
	struct strbuf value = STRBUF_INIT(LOAD_SETUP_TEXT_MAX);
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_LEN(facts); i++) {
		strbuf_reset(&value);
		setup_put_value(&facts[i], (const char *)setup + facts[i].offset, &value);
		if (facts[i].put == FACT_GIVEN && (!value.len || !strcmp(strbuf_str(&value), "0")))
			continue;
		err = value.error ? value.error
				  : event_put_fact(sink, now, facts[i].key, strbuf_str(&value));
	}
	for (uint32_t i = 0; !err && i < setup->config.commands.len; i++)
		err = event_put_fact(sink, now, LOAD_FACT_COMMAND, setup->config.commands.items[i]);
	strbuf_release(&value);
	return err ? err : request_options_put(&setup->config.request, sink, now);
}

static int setup_put_target(struct event_sink *sink, uint64_t now, const char *url)
{
	struct strbuf shown = STRBUF_INIT(LOAD_SETUP_TEXT_MAX);
	int err;

	target_put_shown(url, &shown);
	err = shown.error ? shown.error :
		event_put_fact(sink, now, LOAD_FACT_TARGET, strbuf_str(&shown));
	strbuf_release(&shown);
	return err;
}

int load_setup_put_targets(struct event_sink *sink, uint64_t now, const struct url_list *urls)
{
	struct strbuf url = STRBUF_INIT(LOAD_SETUP_TEXT_MAX);
	int err = 0;

	for (uint32_t i = 0; i < urls->n_targets && !err; i++) {
		strbuf_reset(&url);
		url_list_put_target(urls, i, &url);
		err = url.error ?: setup_put_target(sink, now, strbuf_str(&url));
	}
	strbuf_release(&url);
	return err;
}

static int setup_read_double(const char *value, double *out)
{
	char *end;
	double d = strtod(value, &end);

	if (end == value || *end || !(d >= 0 && d <= 1e18))
		return -EBADMSG;
	*out = d;
	return 0;
}

static int setup_read_word(const char *const *words, const char *value, uint32_t *out)
{
	for (uint32_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], value)) {
			*out = i;
			return 0;
		}
	}
	return -EBADMSG;
}

static int setup_read_value(const struct fact *f, void *member, const char *value)
{
	uint64_t n = 0;

	switch (f->type) {
	case FACT_DOUBLE:
		return setup_read_double(value, member);
	case FACT_WORD:
		return setup_read_word(f->words, value, member);
	case FACT_TEXT:
		return copy_text(member, value) ? -EBADMSG : 0;
	case FACT_U32:
	case FACT_U64:
	case FACT_FLAG:
		break;
	}
	if (parse_u64(value, &n) || (f->type == FACT_U32 && n > UINT32_MAX) ||
	    (f->type == FACT_FLAG && n > 1))
		return -EBADMSG;
	if (f->type == FACT_U64)
		*(uint64_t *)member = n;
	else if (f->type == FACT_U32)
		*(uint32_t *)member = (uint32_t)n;
	else
		*(bool *)member = n;
	return 0;
}

static int setup_add_request(struct load_setup *s, const char *text)
{
	if (s->n_request == LOAD_SETUP_REQUEST_MAX || !strchr(text, ' '))
		return -EBADMSG;
	s->request[s->n_request] = strdup(text);
	if (!s->request[s->n_request])
		return -ENOMEM;
	s->n_request++;
	return 0;
}

/* Adds a target, unless another agent has already reported it. */
static int setup_add_target(struct load_setup *s, const char *url)
{
	for (uint32_t i = 0; i < s->n_targets; i++)
		if (!strcmp(s->targets[i], url))
			return 0;
	if (s->n_targets == LOAD_TARGETS_MAX)
		return -EBADMSG;
	s->targets[s->n_targets] = strdup(url);
	if (!s->targets[s->n_targets])
		return -ENOMEM;
	s->n_targets++;
	return 0;
}

static int setup_add_command(struct load_setup *s, const char *text)
{
	if (s->n_commands == OPT_LIST_MAX)
		return -EBADMSG;
	s->commands[s->n_commands] = strdup(text);
	if (!s->commands[s->n_commands])
		return -ENOMEM;
	s->n_commands++;
	return 0;
}

/* Appends a name to a list, unless the list contains it or has no space left. */
static void setup_add_name(char list[LOAD_SETUP_NICS_MAX], const char *name)
{
	const size_t len = strlen(list), size = strlen(name);
	const char *at;

	if (!size || len + size + 3 > LOAD_SETUP_NICS_MAX)
		return;
	for (at = list; (at = strstr(at, name)); at += size) {
		if ((at == list || at[-1] == ' ') && (!at[size] || at[size] == ','))
			return;
	}
	snprintf(list + len, LOAD_SETUP_NICS_MAX - len, "%s%s", len ? ", " : "", name);
}

/* Appends the text of a dead address, unless the list contains it or has no space left. */
static void setup_add_dead(char list[LOAD_SETUP_NICS_MAX], const char *text)
{
	const size_t len = strlen(list), size = strlen(text);

	if (!size || len + size + 2 > LOAD_SETUP_NICS_MAX || strchr(text, '\n') ||
	    strstr(list, text))
		return;
	snprintf(list + len, LOAD_SETUP_NICS_MAX - len, "%s%s", len ? "\n" : "", text);
}

/* Keeps the largest conversion error of NIC stamps over all agents. Returns 0 or -EBADMSG. */
static int setup_add_nic_error(struct load_setup *s, const char *value)
{
	uint64_t ns;

	if (parse_u64(value, &ns))
		return -EBADMSG;
	s->nic_error_ns = ns > s->nic_error_ns ? ns : s->nic_error_ns;
	return 0;
}

void load_setup_release(struct load_setup *setup)
{
	for (uint32_t i = 0; i < setup->n_targets; i++)
		free(setup->targets[i]);
	for (uint32_t i = 0; i < setup->n_request; i++)
		free(setup->request[i]);
	for (uint32_t i = 0; i < setup->n_commands; i++)
		free(setup->commands[i]);
	setup->n_targets = setup->n_request = setup->n_commands = 0;
}

int load_setup_add_fact(struct load_setup *setup, const char *key, const char *value)
{
	int err;

	if (!strcmp(key, LOAD_FACT_TARGET))
		return setup_add_target(setup, value);
	if (!strcmp(key, LOAD_FACT_REQUEST))
		return setup_add_request(setup, value);
	if (!strcmp(key, LOAD_FACT_COMMAND))
		return setup_add_command(setup, value);
	if (!strcmp(key, LOAD_FACT_NIC)) {
		setup_add_name(setup->nics, value);
		return 0;
	}
	if (!strcmp(key, LOAD_FACT_ADDRESS)) {
		setup_add_name(setup->addresses, value);
		return 0;
	}
	if (!strcmp(key, LOAD_FACT_DEAD_ADDRESS)) {
		setup_add_dead(setup->dead, value);
		return 0;
	}
	if (!strcmp(key, LOAD_FACT_NIC_ERROR))
		return setup_add_nic_error(setup, value);
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		if (strcmp(facts[i].key, key))
			continue;
		err = setup_read_value(&facts[i], (char *)setup + facts[i].offset, value);
		if (!err)
			setup->seen |= 1ULL << i;
		return err;
	}
	return 0;
}

static bool setup_is_valid(const struct load_setup *s)
{
	const struct load_analysis_config *a = &s->analysis;

	return a->percentile > 0 && a->percentile < 1 && a->confidence > 0 && a->confidence < 1 &&
	       a->agents >= 1 && a->agents <= LOAD_AGENTS_MAX && a->probes <= a->agents &&
	       a->max_errors <= 1 && a->rate > 0 && a->max_time_ns;
}

int load_setup_complete(struct load_setup *setup)
{
	struct strbuf why = STRBUF_INIT(1024);
	int err = 0;

	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		if (facts[i].put == FACT_ALWAYS && !(setup->seen & 1ULL << i))
			err = -EBADMSG;
	}
	if (err || !setup_is_valid(setup) ||
	    connect_parts(setup, &why))
		err = -EBADMSG;
	strbuf_release(&why);
	return err;
}
