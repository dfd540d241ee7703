/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the kernel's trace buffers, as trace_pipe_raw gives them: kernel/trace/ring_buffer.c,
 * events/header_page and events/header_event in tracefs. Whatever the bytes are, nothing outside of
 * them is read.
 */
#ifndef HOSTLAT_TRACE_PAGE_H
#define HOSTLAT_TRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A page begins with its first time (8 bytes); then come its length and flags; then events. */
struct trace_page_layout {
	uint32_t length_at;
	uint32_t length_size;	/* in bytes: 4 or 8 */
	uint32_t data_at;
};

struct trace_page {
	const unsigned char *at, *end;
	uint64_t time;	/* time reached, at first the page's begin; in the trace clock's unit */
	bool missed;	/* events between the last page and this one were overwritten */
};

struct trace_event {
	uint64_t time;
	const unsigned char *data;	/* payload, not aligned */
	uint32_t size;
};

/* Opens a page. Returns 0, or -EBADMSG: the bytes are no page. */
int trace_page_open(struct trace_page *page, const struct trace_page_layout *layout,
		    const void *bytes, size_t size);

/* Reads the next event. Returns 1; 0 at the end; -EBADMSG: the rest of the page is unreadable. */
int trace_page_next(struct trace_page *page, struct trace_event *event);

#endif
