/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads in YAML, from libyaml's events. Nothing is built from them: the mapping has one level,
 * so anchors, tags and nesting are refused and can't cost anything.
 */
#include "load/workload_yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
	struct workload_settings *settings;
	const char *name;
	struct strbuf *why;
	char *key;        /* owned; NULL: a key is next */
	size_t key_line;
	bool inside;      /* the mapping */
	bool done;        /* with it */
};

static int refuse(struct reader *r, size_t line, const char *what)
{
	strbuf_printf(r->why, "workload: %s, line %zu: %s", r->name, line + 1, what);
	return -EINVAL;
}

static int take_scalar(struct reader *r, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	struct strbuf where = STRBUF_INIT(4096);
	int err;

	if (!r->inside || event->data.scalar.anchor || event->data.scalar.tag)
		return refuse(r, event->start_mark.line, "a workload is a mapping of plain values");
	if (strlen(text) != event->data.scalar.length)
		return refuse(r, event->start_mark.line, "a zero byte");
	if (!r->key) {
		r->key = strdup(text);
		r->key_line = event->start_mark.line;
		return r->key ? 0 : -ENOMEM;
	}
	strbuf_printf(&where, "%s, line %zu: ", r->name, r->key_line + 1);
	err = workload_set(r->settings, r->key, text, strbuf_str(&where), r->why);
	strbuf_release(&where);
	free(r->key);
	r->key = NULL;
	return err;
}

static int take(struct reader *r, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_MAPPING_START_EVENT:
		if (r->inside || r->done)
			return refuse(r, event->start_mark.line, "a mapping inside a mapping");
		r->inside = true;
		return 0;
	case YAML_MAPPING_END_EVENT:
		r->inside = false;
		r->done = true;
		return 0;
	case YAML_SCALAR_EVENT:
		return take_scalar(r, event);
	case YAML_SEQUENCE_START_EVENT:
		return refuse(r, event->start_mark.line, "a list where a value was expected");
	case YAML_ALIAS_EVENT:
		return refuse(r, event->start_mark.line, "an alias where a value was expected");
	case YAML_DOCUMENT_START_EVENT:
		return r->done ? refuse(r, event->start_mark.line, "a second document") : 0;
	default:
		return 0;
	}
}

/* One event; 1 at the end of the stream. */
static int step(struct reader *r, yaml_parser_t *parser)
{
	yaml_event_t event;
	int err;

	if (!yaml_parser_parse(parser, &event)) {
		if (parser->error == YAML_MEMORY_ERROR)
			return -ENOMEM;
		return refuse(r, parser->problem_mark.line,
			      parser->problem ? parser->problem : "not YAML");
	}
	err = take(r, &event);
	if (!err && event.type == YAML_STREAM_END_EVENT)
		err = 1;
	yaml_event_delete(&event);
	return err;
}

int workload_yaml(struct workload_settings *settings, const char *name, const void *text,
		  size_t size, struct strbuf *why)
{
	struct reader r = { .settings = settings, .name = name, .why = why };
	yaml_parser_t parser;
	int err = 0;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, text, size);
	while (!err)
		err = step(&r, &parser);
	yaml_parser_delete(&parser);
	free(r.key);
	if (err == 1 && !r.done)
		return refuse(&r, 0, "a workload is a mapping of plain values");
	return err == 1 ? 0 : err;
}
