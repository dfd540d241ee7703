/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's function_graph tracer: an instance of its own where the kernel lets instances have
 * it (since 6.11), else the shared tracer, if nobody uses it. The depth is a setting of the whole
 * kernel in either case.
 *
 * An instance outlives its process: it is called hostlat-PID, and the next start of any command
 * that collects removes instances of dead processes. The lock of an instance's folder (flock) shows
 * whether its process lives, as a PID may be used again or be of another PID namespace.
 * hostlat-PID-shared shows that the process used the shared tracer, which is then switched off.
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

/* Sets the tracer up without starting it. Returns 0, or -errno with the reason in `why`. */
int tracefs_open(struct tracefs **out, const struct tracefs_config *config, char *why, size_t size);

/*
 * Removes the instances that killed processes have left. `root`: path of tracefs; NULL: its mount
 * point. Does nothing without permission or tracefs.
 */
void tracefs_clean(const char *root);

/* Returns true if hostlat uses the shared tracer. */
bool tracefs_shared(const struct tracefs *t);

/* Starts tracing. Returns 0 or -errno. */
int tracefs_start(struct tracefs *t);
void tracefs_stop(struct tracefs *t);

/* Returns a new non-blocking descriptor for the pages of a CPU's buffer, or -errno. */
int tracefs_pages(const struct tracefs *t, uint32_t cpu);

/* Returns the kernel's statistics of a CPU's buffer, or NULL if unreadable; the caller frees it. */
char *tracefs_statistics(const struct tracefs *t, uint32_t cpu);

/* Returns the size of a page in bytes. */
size_t tracefs_page_size(const struct tracefs *t);

/* Returns the text of a file below tracefs, or NULL if unreadable; the caller frees it. */
char *tracefs_text(const struct tracefs *t, const char *path);

/* Stops tracing and restores all settings. */
void tracefs_free(struct tracefs *t);

#endif
