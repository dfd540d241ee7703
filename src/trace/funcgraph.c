/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/funcgraph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/clock.h"
#include "trace/symbols.h"

/* Age in ns at which events are complete: a younger event may still lack its time. */
#define SETTLED_NS 1000000ULL

/* Addresses whose symbol numbers are cached: more than a kernel has functions. A power of two. */
#define KNOWN (1U << 17)

/* Largest number of times that names are read again, for modules loaded meanwhile. */
#define REREADS 16

struct funcgraph_interned {
	uint64_t address;
	uint32_t symbol;
};

struct funcgraph_cpu {
	int fd;		/* trace_pipe_raw; -1: the CPU has no pages */
	struct trace_calls calls;
};

struct funcgraph {
	struct tracefs *tracefs;
	struct trace_format format;
	struct symbols *symbols;
	unsigned int rereads;
	struct funcgraph_interned *known;
	uint32_t n_known;
	struct funcgraph_cpu *cpus;
	uint32_t n_cpus;
	unsigned char *page;
	size_t page_size;
	uint64_t pages_max;	/* limit of pages read from one CPU per pull */
	/* Arguments of funcgraph_pull(), set while it runs. */
	struct event_writer *writer;
	uint32_t cpu;
	funcgraph_put *put;
	void *ctx;
};

static int funcgraph_read_format(struct funcgraph *f)
{
	char *page = tracefs_text(f->tracefs, "events/header_page");
	char *entry = tracefs_text(f->tracefs, "events/ftrace/funcgraph_entry/format");
	char *exit = tracefs_text(f->tracefs, "events/ftrace/funcgraph_exit/format");
	int err = page && entry && exit ? trace_format_read(&f->format, page, entry, exit) :
					  -ENOENT;

	free(page);
	free(entry);
	free(exit);
	return err;
}

/* Opens the CPUs' pages: while they are open, the tracer can't be changed. */
static int funcgraph_open_pages(struct funcgraph *f)
{
	for (uint32_t i = 0; i < f->n_cpus; i++) {
		int fd = tracefs_pages(f->tracefs, i);

		if (fd < 0 && fd != -ENOENT)
			return fd;
		f->cpus[i].fd = fd < 0 ? -1 : fd;
	}
	return 0;
}

static int funcgraph_open_all(struct funcgraph *f, const struct tracefs_config *config, char *why,
			      size_t size)
{
	int err = tracefs_open(&f->tracefs, config, why, size);

	if (err)
		return err;
	f->page_size = tracefs_page_size(f->tracefs);
	f->pages_max = config->buffer / f->page_size + 2;
	f->page = malloc(f->page_size);
	if (!f->page)
		return -ENOMEM;
	err = funcgraph_read_format(f);
	if (err)
		snprintf(why, size, "cannot trace functions: hostlat does not know the format of "
			 "this kernel's function_graph events");
	if (!err) {
		err = symbols_read(&f->symbols, "/proc/kallsyms");
		if (err)
			snprintf(why, size, "cannot trace functions: cannot read their names "
				 "from /proc/kallsyms: %s", strerror(-err));
	}
	return err;
}

int funcgraph_open(struct funcgraph **out, const struct tracefs_config *config, uint32_t cpus,
		   char *why, size_t size)
{
	struct funcgraph *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	*out = NULL;
	why[0] = '\0';
	if (f) {
		f->cpus = calloc(cpus, sizeof(*f->cpus));
		f->known = calloc(KNOWN, sizeof(*f->known));
		f->n_cpus = f->cpus ? cpus : 0;
		for (uint32_t i = 0; i < f->n_cpus; i++)
			f->cpus[i].fd = -1;
		if (f->cpus && f->known)
			err = funcgraph_open_all(f, config, why, size);
	}
	if (err) {
		if (!why[0])
			snprintf(why, size, "cannot trace functions: %s", strerror(-err));
		funcgraph_free(f);
		return err;
	}
	*out = f;
	return 0;
}

bool funcgraph_shared(const struct funcgraph *f)
{
	return tracefs_shared(f->tracefs);
}

int funcgraph_start(struct funcgraph *f)
{
	const uint64_t now = clock_now();
	int err = tracefs_start(f->tracefs);

	for (uint32_t i = 0; i < f->n_cpus; i++)
		f->cpus[i].calls.last = now;
	return err ? err : funcgraph_open_pages(f);
}

void funcgraph_stop(struct funcgraph *f)
{
	tracefs_stop(f->tracefs);
}

/* ---- names ---- */

static const char *funcgraph_name(struct funcgraph *f, uint64_t address)
{
	const char *name = symbols_name(f->symbols, address);
	struct symbols *again;

	if (name || f->rereads == REREADS)
		return name;
	f->rereads++;
	if (symbols_read(&again, "/proc/kallsyms"))
		return NULL;
	symbols_free(f->symbols);
	f->symbols = again;
	return symbols_name(f->symbols, address);
}

static uint32_t funcgraph_intern(struct funcgraph *f, uint64_t address)
{
	const char *name = funcgraph_name(f, address);
	char hex[32];

	snprintf(hex, sizeof(hex), "0x%" PRIx64, address);
	return event_writer_intern(f->writer, DICT_SYMBOL, name ? name : hex);
}

static uint32_t funcgraph_symbol(struct funcgraph *f, uint64_t address)
{
	/* 64-bit golden ratio: multiplicative hashing, D. Knuth, TAOCP 3, 6.4. */
	uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15ULL >> 32) & (KNOWN - 1);
	uint32_t symbol;

	if (!address)
		return 0;
	while (f->known[at].address && f->known[at].address != address)
		at = (at + 1) & (KNOWN - 1);
	if (f->known[at].address)
		return f->known[at].symbol;
	symbol = funcgraph_intern(f, address);
	if (f->n_known < KNOWN / 2) {
		f->n_known++;
		f->known[at] = (struct funcgraph_interned){ address, symbol };
	}
	return symbol;
}

/* ---- pulling ---- */

static void funcgraph_put_call(void *ctx, const struct trace_call *call)
{
	struct funcgraph *f = ctx;

	f->put(f->ctx, f->cpu, call, funcgraph_symbol(f, call->address));
}

uint64_t funcgraph_pull(struct funcgraph *f, struct event_writer *writer, uint32_t cpu,
			funcgraph_put *put, void *ctx)
{
	const uint64_t now = clock_now(), settled = now - SETTLED_NS;
	struct funcgraph_cpu *c = cpu < f->n_cpus ? &f->cpus[cpu] : NULL;

	if (!c || c->fd < 0)
		return UINT64_MAX;
	f->writer = writer;
	f->cpu = cpu;
	f->put = put;
	f->ctx = ctx;
	for (uint64_t i = 0; i < f->pages_max; i++) {
		ssize_t n = read(c->fd, f->page, f->page_size);

		if (n <= 0)
			return settled;
		trace_calls_page(&c->calls, &f->format, f->page, (size_t)n, funcgraph_put_call, f);
		/* Stops at events made since this call began: reading makes events, too. */
		if (c->calls.last >= now)
			return settled;
	}
	/* The limit of pages was reached: the CPU makes events faster than they are read. */
	return c->calls.last < settled ? c->calls.last : settled;
}

/* Returns the number behind `key`, e.g. "overrun: ", in the CPU's statistics; 0: none. */
static uint64_t funcgraph_number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

uint64_t funcgraph_lost(const struct funcgraph *f)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->n_cpus; i++) {
		char *text = f->cpus[i].fd < 0 ? NULL : tracefs_statistics(f->tracefs, i);

		if (text)
			sum += funcgraph_number_behind(text, "\noverrun: ") +
			       funcgraph_number_behind(text, "\ndropped events: ");
		free(text);
	}
	return sum;
}

void funcgraph_free(struct funcgraph *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n_cpus; i++)
		if (f->cpus[i].fd >= 0)
			close(f->cpus[i].fd);
	tracefs_free(f->tracefs);
	symbols_free(f->symbols);
	free(f->known);
	free(f->cpus);
	free(f->page);
	free(f);
}
