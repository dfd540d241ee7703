/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's function_graph tracer, set up and put back: an instance of its own where the kernel
 * lets instances have it (since 6.11), else the one that all share, if nobody uses it. How many
 * levels are traced is a setting of the kernel's in either case.
 *
 * An instance outlives its process: it is called hostlat-PID, and the next start of any command
 * that collects removes those of processes that are gone. A lock of its folder (flock) says whether
 * its process lives: a PID may be used again, or be one of another PID namespace. One called
 * hostlat-PID-shared says that the shared tracer was taken: then that is switched off, too.
 */
#ifndef HOSTLAT_TRACE_TRACEFS_H
#define HOSTLAT_TRACE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracefs;

struct tracefs_config {
	const char *functions;	/* names and patterns with *, separated by commas */
	uint64_t depth;		/* largest depth of nested calls; 0: unlimited */
	uint64_t buffer;	/* bytes of the buffer of each CPU */
};

/* Returns 0, or -errno with the reason in words in `why`. Nothing is traced yet. */
int tracefs_open(struct tracefs **out, const struct tracefs_config *config, char *why, size_t size);

/*
 * Removes what killed processes have left. `root`: path of tracefs; NULL: its mount point. Does
 * nothing without permission or tracefs.
 */
void tracefs_clean(const char *root);

/* Returns true if the tracer is the one that all share. */
bool tracefs_shared(const struct tracefs *t);

/* Starts tracing. 0 or -errno. */
int tracefs_start(struct tracefs *t);
void tracefs_stop(struct tracefs *t);

/* Returns a new non-blocking descriptor of that CPU's pages, or -errno. */
int tracefs_pages(const struct tracefs *t, uint32_t cpu);

/* Returns the kernel's statistics of a CPU's buffer; to be freed; NULL if they can't be read. */
char *tracefs_statistics(const struct tracefs *t, uint32_t cpu);

/* Returns the bytes of a page. */
size_t tracefs_page_size(const struct tracefs *t);

/* Returns the text of a file below tracefs; to be freed; NULL if it can't be read. */
char *tracefs_text(const struct tracefs *t, const char *path);

/* Stops tracing and restores all settings. */
void tracefs_free(struct tracefs *t);

#endif
