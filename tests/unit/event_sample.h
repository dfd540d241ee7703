/* SPDX-License-Identifier: Apache-2.0 */
/* A small event file that holds every kind there is, and any event file as text. */
#ifndef HOSTLAT_TESTS_EVENT_SAMPLE_H
#define HOSTLAT_TESTS_EVENT_SAMPLE_H

#include <stdio.h>

#include "event/source.h"
#include "event/writer.h"

/* The options that make the sample the same bytes every time. */
struct event_writer_options sample_options(bool raw);

/*
 * Puts all kinds, with `filler` more counters so that there are several chunks. Returns 0 or the
 * first error. tests/data/schema-1.hlat was made by it, before some structs grew.
 */
int sample_write(struct event_writer *writer, uint32_t filler);

/* One line for each event, record and open span, in the order of the source. */
void event_dump(struct event_source *source, FILE *out);

/* The damage as one line: "whole" if there is none. */
void damage_dump(struct event_source *source, FILE *out);

#endif
