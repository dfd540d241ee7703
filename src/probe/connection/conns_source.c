/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/descriptors.h"
#include "clock/clock.h"
#include "probe/connection/conns_diag.h"
#include "probe/connection/conns_probe.h"

#define WHY_MAX 512

/* Source of connections: BPF programs (`probe`) or inet_diag (`diag`); the other one is NULL. */
struct conns_source {
	struct conns_probe *probe;
	struct conns_diag *diag;
	char why[WHY_MAX]; /* why BPF programs cannot be used; "": not requested */
	bool lacks_log;    /* a log of calls was requested, which inet_diag lacks */
};

static int conns_source_open_backend(struct conns_source *s, enum conns_collect how,
				     const struct conns_log *log, char *why, size_t size)
{
	char also[WHY_MAX];
	int err = 0;

	why[0] = '\0';
	if (how != CONNS_COLLECT_INET_DIAG) {
		err = conns_probe_open(&s->probe, log, why, size);
		if (!err || how == CONNS_COLLECT_BPF)
			return err;
		snprintf(s->why, sizeof(s->why), "%s", why);
	}
	err = conns_diag_open(&s->diag, also, sizeof(also));
	s->lacks_log = log->on;
	if (err)
		snprintf(why, size, "%.340s%s%.160s", s->why, s->why[0] ? "; " : "", also);
	return err;
}

int conns_source_open(struct conns_source **out, enum conns_collect how,
		      const struct conns_log *log, char *why, size_t size)
{
	struct conns_source *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s) {
		snprintf(why, size, "no memory");
		return -ENOMEM;
	}
	descriptors_raise(); /* each namespace needs a descriptor */
	err = conns_source_open_backend(s, how, log, why, size);
	if (err) {
		conns_source_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void conns_source_free(struct conns_source *s)
{
	if (!s)
		return;
	conns_probe_free(s->probe);
	conns_diag_free(s->diag);
	free(s);
}

bool conns_source_is_fallback(const struct conns_source *s)
{
	return s->diag && s->why[0];
}

int conns_source_describe(struct conns_source *s, struct event_sink *sink)
{
	char line[WHY_MAX + 64];
	int err;

	if (s->probe)
		return conns_probe_describe(s->probe, sink);
	snprintf(line, sizeof(line), "BPF events (hostlat uses inet_diag instead): %s",
		 s->why[0] ? s->why : "--collect selects inet_diag");
	err = event_put_fact(sink, clock_now(),
			     CONNS_PROBE_FACT_MISSING, line);
	if (!err && s->lacks_log)
		err = event_put_fact(sink, clock_now(),
				     CONNS_PROBE_FACT_MISSING,
				     "the log of calls: inet_diag does not report calls");
	return err ? err : conns_diag_describe(s->diag, sink);
}

void conns_source_output(struct conns_source *s, struct event_sink *sink, struct event_dict *dict)
{
	if (s->probe)
		conns_probe_output(s->probe, sink, dict);
	else
		conns_diag_output(s->diag, sink, dict);
}

int conns_source_sample(struct conns_source *s, enum conn_level level, double sample_ns,
			struct conns_pass *pass)
{
	return s->probe ? conns_probe_sample(s->probe, level, sample_ns, pass) :
			  conns_diag_sample(s->diag, level, sample_ns, pass);
}

void conns_source_cover(struct conns_source *s, enum conn_level level, bool sampled, uint64_t now)
{
	if (s->probe)
		conns_probe_cover(s->probe, level, sampled, now);
	else
		conns_diag_cover(s->diag, level, sampled, now);
}

void conns_source_gap(struct conns_source *s, enum conn_level level, uint64_t from, uint64_t to,
		      uint64_t ns)
{
	if (s->probe)
		conns_probe_gap(s->probe, level, from, to, ns);
	else
		conns_diag_gap(s->diag, level, from, to, ns);
}

int conns_source_read(struct conns_source *s, enum conn_level level, uint64_t quota,
		      struct conns_pass *pass)
{
	return s->probe ? conns_probe_read(s->probe, level, quota, pass) :
			  conns_diag_read(s->diag, level, quota, pass);
}

int conns_source_fd(const struct conns_source *s)
{
	return s->probe ? conns_probe_fd(s->probe) : -1;
}

bool conns_source_block(struct conns_source *s, struct event_block *block)
{
	return s->probe ? conns_probe_block(s->probe, block) : conns_diag_block(s->diag, block);
}

void conns_source_aim(struct conns_source *s, enum conn_level level, double hz)
{
	if (s->probe)
		conns_probe_aim(s->probe, level, hz);
	else
		conns_diag_aim(s->diag, level, hz);
}

void conns_source_members(const struct conns_source *s, uint64_t members[LEVELS])
{
	if (s->probe)
		conns_probe_members(s->probe, members);
	else
		conns_diag_members(s->diag, members);
}

/* Has no effect on inet_diag, which reports no calls. */
void conns_source_thin(struct conns_source *s, uint32_t n)
{
	if (s->probe)
		conns_probe_thin(s->probe, n);
}

/* Has no effect on inet_diag, which misses connections that come and go between two dumps. */
void conns_source_follow(struct conns_source *s, uint32_t n)
{
	if (s->probe)
		conns_probe_follow(s->probe, n);
}

/*
 * Returns whether connections were read since the last call; always true for BPF programs, which
 * see all connections also without a read.
 */
bool conns_source_looked(struct conns_source *s)
{
	return s->probe || conns_diag_looked(s->diag);
}

void conns_source_ends(struct conns_source *s, struct conns_ends *ends)
{
	*ends = (struct conns_ends){ 0 };
	if (s->probe)
		conns_probe_ends(s->probe, ends);
}

/* Has no effect on inet_diag, which has no log of calls. */
int conns_source_choose(struct conns_source *s, uint64_t cookie)
{
	return s->probe ? conns_probe_choose(s->probe, cookie) : 0;
}

int conns_source_calls(struct conns_source *s, uint64_t grant)
{
	return s->probe ? conns_probe_calls(s->probe, grant) : 0;
}

bool conns_source_call_block(struct conns_source *s, struct event_block *block)
{
	return s->probe && conns_probe_call_block(s->probe, block);
}

uint64_t conns_source_calls_left_out(const struct conns_source *s)
{
	return s->probe ? conns_probe_calls_left_out(s->probe) : 0;
}

void conns_source_lost(const struct conns_source *s, struct conns_lost *lost)
{
	if (s->probe)
		conns_probe_lost(s->probe, lost);
	else
		conns_diag_lost(s->diag, lost);
}

/*
 * Stores the CPU time taken from other processes: 0 for inet_diag, which runs in hostlat's own
 * time.
 */
bool conns_source_cost(struct conns_source *s, struct conns_push *push)
{
	if (s->probe)
		return conns_probe_cost(s->probe, push);
	*push = (struct conns_push){ .exact = true };
	return true;
}
