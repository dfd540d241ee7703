/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../sim/trace_script.h"

int rig_file(const char *script)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	BUG_ON(fd < 0);
	trace_script("script", script, fd);
	return fd;
}

static void read_as(struct rig *rig, int fd, enum direction direction, uint64_t load)
{
	const struct message_selection all = { .direction = direction, .to = 1, .against_from = 0.4,
				       .against_to = 0.6 };

	*rig = (struct rig){ .fd = fd, .rec.hostlat.load = load };
	BUG_ON(event_reader_new(&rig->reader, fd));
	BUG_ON(recorded_read(&rig->rec, rig->reader, &all));
}

void rig_read(struct rig *rig, int fd)
{
	read_as(rig, fd, DIR_INGRESS, 0);
}

void rig_read_of(struct rig *rig, int fd, uint64_t load)
{
	read_as(rig, fd, DIR_INGRESS, load);
}

void rig_read_sent(struct rig *rig, int fd)
{
	read_as(rig, fd, DIR_EGRESS, 0);
}

void rig_release(struct rig *rig)
{
	recorded_release(&rig->rec);
	event_reader_free(rig->reader);
	close(rig->fd);
}

static bool alike(const struct slice *a, const struct slice *b)
{
	return a->end == b->begin && a->cause == b->cause && a->where == b->where &&
	       a->core == b->core && a->culprit == b->culprit && a->message == b->message;
}

static void show_slice(const struct recorded *rec, const struct slice *s, uint64_t first,
		       FILE *out)
{
	fprintf(out, "%" PRIu64 "-%" PRIu64 " %s", s->begin - first, s->end - first,
		cause_name(s->cause));
	if (s->where != WHERE_APPLICATION)
		fprintf(out, " %s", cause_where_name(s->where));
	if (s->core != CORE_UNKNOWN)
		fprintf(out, " on %u", s->core);
	if (s->culprit)
		fprintf(out, " by %s", tasks_get(&rec->tasks, s->culprit)->comm);
	if (s->message)
		fprintf(out, " behind %" PRIu64, rec->messages.all.items[s->message - 1].id);
	fputc('\n', out);
}

static void show_message(const struct recorded *rec, uint32_t subject, FILE *out)
{
	const struct message *m = subject_message(rec, subject);
	const struct drawn *drawn = &rec->drawn[subject];

	fprintf(out, "message %" PRIu64 "\n", m->id);
	for (size_t i = 0; i < drawn->len; i++) {
		struct slice s = drawn->items[i].slice;

		while (i + 1 < drawn->len && alike(&s, &drawn->items[i + 1].slice))
			s.end = drawn->items[++i].slice.end;
		show_slice(rec, &s, m->first, out);
	}
}

void rig_show(const struct rig *rig, char text[RIG_TEXT])
{
	FILE *out = fmemopen(text, RIG_TEXT, "w");

	BUG_ON(!out);
	text[0] = '\0';
	for (uint32_t i = 0; i < rig->rec.subjects.len; i++)
		show_message(&rig->rec, i, out);
	fclose(out);
}

void rig_charge(const char *script, char text[RIG_TEXT])
{
	struct rig rig;

	rig_read(&rig, rig_file(script));
	rig_show(&rig, text);
	rig_release(&rig);
}

void rig_charge_sent(const char *script, char text[RIG_TEXT])
{
	struct rig rig;

	rig_read_sent(&rig, rig_file(script));
	rig_show(&rig, text);
	rig_release(&rig);
}
