/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a recording to diagnose, alone and against itself. Whatever it holds, the parts of
 * each message sum to its latency, its slices follow each other, and there is a report.
 *
 * The first byte chooses: bit 0, checksums and magics are put right first; bit 1, all messages are
 * targets, and not only the slowest; bit 2, against itself as another recording; bit 3, --paper;
 * bit 4, what was sent.
 * The seeds are such a byte and a file of tests/cli/mktrace.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "diagnose/paper.h"
#include "diagnose/state.h"
#include "report/report.h"
#include "seal.h"

#define FILE_MAX (4u << 20)

enum { SEAL = 1, ALL = 2, AGAINST = 4, PAPER = 8, SENT = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->own.subjects.len && d->own.breakdowns; i++) {
		const struct message *m = subject_message(&d->own, i);
		uint64_t sum = 0, at = m->first;

		for (unsigned int place = 0; place < CAUSE_PLACES; place++)
			sum += d->own.breakdowns[i].ns[place];
		BUG_ON(sum != message_latency(m));
		vec_for_each(&d->own.drawn[i], drawn) {
			const struct slice *s = &drawn->slice;

			BUG_ON(s->begin != at || s->end <= at || s->end > m->read);
			BUG_ON(s->cause >= CAUSE_MAX || s->where >= WHERE_MAX);
			at = s->end;
		}
	}
}

static void say(const struct diagnosis *d)
{
	const struct provenance who = { .command = "diagnose", .schema = DIAGNOSE_SCHEMA };
	struct report r;

	report_init(&r, &who);
	BUG_ON(diagnosis_report(d, &r));
	report_release(&r);
}

static void diagnose(int fd, uint8_t how)
{
	const struct diagnose_options options = {
		.selection = {
			.direction = how & SENT ? DIR_EGRESS : DIR_INGRESS,
			.from = how & ALL ? 0 : 0.9, .to = 1, .against_from = 0.2,
			.against_to = 0.9,
		},
		.method = how & PAPER ? &paper_method : NULL,
	};
	struct event_reader *reader, *against = NULL;
	struct diagnosis *d;

	if (event_reader_new(&reader, fd))
		return;
	if (how & AGAINST)
		BUG_ON(event_reader_new(&against, fd));
	BUG_ON(diagnosis_new(&d, &options));
	if (diagnosis_run(d, reader, against) == 0) {
		check(d);
		say(d);
	}
	diagnosis_free(d);
	event_reader_free(against);
	event_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *bytes;
	int fd;

	if (size < 1 || size > FILE_MAX)
		return 0;
	bytes = malloc(size);
	fd = memfd_create("recording", MFD_CLOEXEC);
	BUG_ON(!bytes || fd < 0);
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & SEAL)
		seal_file(bytes, size - 1);
	BUG_ON(write(fd, bytes, size - 1) != (ssize_t)(size - 1));
	diagnose(fd, data[0]);
	close(fd);
	free(bytes);
	return 0;
}
