/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat report: makes one HTML page from results that other commands printed with --json. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/readfile.h"
#include "cmd/cmd.h"
#include "cmd/glossary.h"
#include "cmd/recorded_file.h"
#include "event/format.h"
#include "event/reader.h"
#include "output/html.h"

#define NAME_MAX_BYTES 4352 /* bytes of a path and a line number */
#define LINES_MAX 100u      /* largest number of documents shown of a file of JSON lines */

struct report_config {
	struct opt_list files;
	const char *page;
	const char *title;
	bool quiet;
};

static const struct opt report_options[] = {
	OPT_LIST(struct report_config, files, .name = "FILE",
		 .group = OPT_TARGET, .positional = true, .required = true,
		 .file = true,
		 .help = "Output of a command with --json or --json-lines, or a folder of explain; "
			 "- is standard input"),
	OPTION_OUTPUT(struct report_config, page, .aliases = "page", .required = true,
		      .help = "HTML file to write"),
	OPT_STRING(struct report_config, title, .name = "title",
		   .group = OPT_OUTPUT,
		   .help = "Title of the page (default: what was measured, and when)"),
	OPT_FLAG(struct report_config, quiet, .name = "quiet",
		 .group = OPT_OUTPUT, .letter = 'q',
		 .help = "Print only warnings and errors on standard error"),
	OPT_END,
};

struct page_maker {
	struct strbuf out, text;
	struct html html;
	size_t bytes, damaged;
};

static bool page_is_stdin(const char *path)
{
	return !strcmp(path, "-");
}

static const char *page_input_name(const char *path)
{
	return page_is_stdin(path) ? "standard input" : path;
}

/* Checks that the page overwrites no input, and standard input is read once only. */
static bool page_inputs_differ(const struct report_config *c)
{
	for (uint32_t i = 0; i < c->files.len; i++) {
		const char *path = c->files.items[i];

		if (!page_is_stdin(path) && outfile_same(path, c->page)) {
			log_error("%s is an input: give the page another name", path);
			return false;
		}
		for (uint32_t k = 0; k < i; k++) {
			if (page_is_stdin(path) && page_is_stdin(c->files.items[k])) {
				log_error("standard input can be read only once");
				return false;
			}
		}
	}
	return true;
}

static int page_read_file(struct page_maker *m, const char *path)
{
	int err;

	strbuf_reset(&m->text);
	m->text.max = HTML_INPUT_MAX - m->bytes;
	err = page_is_stdin(path) ? readfile_fd(STDIN_FILENO, &m->text) : readfile(path, &m->text);
	m->bytes += err ? 0 : m->text.len;
	if (err == -E2BIG)
		log_error("%s is too large: a page holds at most %u MiB of results",
			  page_input_name(path), HTML_INPUT_MAX >> 20);
	else if (err)
		log_error("cannot read %s: %s", page_input_name(path), strerror(-err));
	return err;
}

/* ---- contents of a file ---- */

static bool page_is_recording(const struct page_maker *m)
{
	const size_t n = strlen(EVENT_FILE_MAGIC);

	return m->text.len >= n && !memcmp(strbuf_str(&m->text), EVENT_FILE_MAGIC, n);
}

/* Returns the end of the first document of a file of JSON lines; NULL: a single document. */
static const char *page_first_line(const char *text, size_t n)
{
	const char *end = memchr(text, '\n', n);
	const char *next = end ? end + 1 + strspn(end + 1, " \t\r\n") : NULL;
	const char *last = end;

	while (last && last > text && strchr(" \t\r", last[-1]))
		last--;
	/* In a single document on several lines, the first line does not end with '}'. */
	return next && *next == '{' && last > text && last[-1] == '}' ? end : NULL;
}

/* Adds a document. Returns EXIT_OK, even for a damaged document (counted), or EXIT_CANNOT. */
static int page_add_document(struct page_maker *m, const char *name, const char *text, size_t n)
{
	struct json_text_fault fault;
	int err;

	if (!json_text_is_result(text, n)) {
		log_error("%s is not a result of hostlat (make one with --json)", name);
		return EXIT_CANNOT;
	}
	err = html_add(&m->html, name, text, n, &fault);
	if (err == -EBADMSG) {
		log_error("%s is damaged: line %zu, column %zu: %s", name, fault.line, fault.column,
			  fault.what);
		html_leave_out(&m->html, name, &fault);
		m->damaged++;
	} else if (err) {
		log_error("cannot add %s to the page: %s", name, strerror(-err));
		return EXIT_CANNOT;
	}
	return EXIT_OK;
}

/* Adds the last LINES_MAX documents of a file of JSON lines; a page cannot show all. */
static int page_add_lines(struct page_maker *m, const char *name)
{
	const size_t n = m->text.len;
	char *const text = strbuf_detach(&m->text), *const end = text + n, *line = text;
	size_t lines = 0, at = 0;
	int code = EXIT_OK;

	if (!text)
		return EXIT_CANNOT;
	for (const char *p = line; p < end; p++)
		lines += *p == '\n' || p + 1 == end;
	if (lines > LINES_MAX)
		log_warning("%s has %zu documents: the page shows the last %u", name, lines,
			    LINES_MAX);
	while (!code && line < end) {
		char *stop = memchr(line, '\n', (size_t)(end - line));
		char called[NAME_MAX_BYTES];

		stop = stop ? stop : end;
		*stop = '\0';
		at++;
		snprintf(called, sizeof(called), "%s, line %zu", name, at);
		if (at + LINES_MAX > lines && line[strspn(line, " \t\r")])
			code = page_add_document(m, called, line, (size_t)(stop - line));
		line = stop + 1;
	}
	free(text);
	return code;
}

static int page_add_file(struct page_maker *m, const char *path)
{
	const char *name = page_input_name(path);

	if (page_read_file(m, path))
		return EXIT_CANNOT;
	if (page_is_recording(m)) {
		if (name == path)
			log_error("%s is a recording, not a result (convert it with hostlat %s %s "
				  "--json)",
				  name, recorded_file_words(path), path);
		else
			log_error("%s is a recording, not a result (save it to FILE; hostlat "
				  "report FILE names the command that converts it)", name);
		return EXIT_CANNOT;
	}
	if (page_first_line(strbuf_str(&m->text), m->text.len))
		return page_add_lines(m, name);
	return page_add_document(m, name, strbuf_str(&m->text), m->text.len);
}

/* Adds result.json of a folder of `hostlat explain`. */
static int page_add_folder(struct page_maker *m, const char *path)
{
	struct strbuf file = STRBUF_INIT(NAME_MAX_BYTES);
	int code = EXIT_CANNOT;

	strbuf_printf(&file, "%s/result.json", path);
	if (!file.error && access(strbuf_str(&file), F_OK) == 0)
		code = page_add_file(m, strbuf_str(&file));
	else
		log_error("%s is a folder without result.json; hostlat explain makes folders that "
			  "have it", path);
	strbuf_release(&file);
	return code;
}

static int page_add_input(struct page_maker *m, const char *path)
{
	struct stat st;

	if (!page_is_stdin(path) && !stat(path, &st) && S_ISDIR(st.st_mode))
		return page_add_folder(m, path);
	return page_add_file(m, path);
}

/* Adds the glossary: the page explains the words of its results. */
static void page_add_words(struct page_maker *m)
{
	struct glossary_entry e;

	for (unsigned int list = 0; list < GLOSSARY_LISTS; list++)
		for (unsigned int i = 0; glossary_get(list, i, &e); i++)
			if (e.name)
				html_add_word(&m->html, &(struct html_word){
					.name = e.name, .kind = e.kind, .phrase = e.phrase,
					.what = e.text->what, .effect = e.text->effect,
					.todo = e.text->todo });
}

static int page_add_files(struct page_maker *m, const struct report_config *c)
{
	int code = EXIT_OK;

	html_begin(&m->html, &m->out, c->title);
	page_add_words(m);
	for (uint32_t i = 0; !code && i < c->files.len; i++)
		code = page_add_input(m, c->files.items[i]);
	html_end(&m->html);
	if (!code && m->out.error) {
		log_error("cannot make the page: %s", strerror(-m->out.error));
		code = EXIT_CANNOT;
	}
	return code;
}

static int page_write(const struct page_maker *m, const char *path)
{
	int err = outfile_put(path, &m->out);

	if (err)
		log_error("cannot write to %s: %s", path, folder_strerror(err));
	else
		log_info("%zu %s, %zu bytes, in %s", m->html.documents,
			 m->html.documents == 1 ? "result" : "results", m->out.len, path);
	return err ? EXIT_CANNOT : EXIT_OK;
}

static int cmd_report_run(const void *config)
{
	const struct report_config *c = config;
	struct page_maker m = {
		.out = STRBUF_INIT(HTML_PAGE_MAX),
		.text = STRBUF_INIT(HTML_INPUT_MAX),
	};
	int code;

	if (c->quiet)
		log_set_level(LOG_LEVEL_WARNING);
	if (page_is_stdin(c->page)) {
		log_error("-o needs a file name: the page cannot go to standard output");
		return EXIT_USAGE;
	}
	if (!page_inputs_differ(c))
		return EXIT_USAGE;
	code = page_add_files(&m, c);
	if (!code && m.html.documents)
		code = page_write(&m, c->page);
	if (!code && m.damaged)
		code = EXIT_PARTIAL;
	strbuf_release(&m.out);
	strbuf_release(&m.text);
	return code;
}

const struct command cmd_report = {
	.name = "report",
	.reads_only = true,
	.summary = "make one HTML page of any results",
	.examples = {
		{ "hostlat report before/result.json after/result.json -o page.html",
		  "Show two results of hostlat explain on one page" },
		{ "hostlat report watch.json load.json -o page.html",
		  "Show what several commands printed with --json" },
		{ "hostlat load http://10.0.0.2/ --json | hostlat report - -o page.html",
		  "Show a run of the load generator" },
	},
	.options = report_options,
	.config_size = sizeof(struct report_config),
	.run = cmd_report_run,
};
