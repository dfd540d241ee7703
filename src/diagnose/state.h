/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the files of the analysis. */
#ifndef HOSTLAT_DIAGNOSE_STATE_H
#define HOSTLAT_DIAGNOSE_STATE_H

#include "diagnose/commands.h"
#include "diagnose/contexts.h"
#include "diagnose/diagnose.h"
#include "diagnose/drawn.h"
#include "diagnose/excess.h"
#include "stats/hist.h"

#define EXAMPLES_DRAWN 100u   /* slowest messages to explain, for which the timeline is stored */
#define OVER_TIME_STEPS 60u
#define FLOWS_MAX (1u << 20)
#define TASK_PLACES_MAX (1u << 18)   /* records of tasks' control groups; later ones are ignored */
#define LATENCY_SCHEMA 3

struct windows;

/* One recording, and the analysis of its messages. */
struct recorded {
	struct event_reader *reader;
	struct event_dict *names;
	struct tasks tasks;
	/* control groups of tasks, until `tasks` has them */
	struct event_tasks VEC_OF(struct event_task) places;
	struct task_commands commands; /* commands of the tasks */
	struct calls calls;
	struct messages messages;
	struct subjects subjects;
	struct breakdown *breakdowns; /* one for each analyzed message */
	struct drawn *drawn;        /* timeline of each analyzed message; may be empty */
	struct windows *windows;    /* one list for each analyzed message; NULL: functions were not
				     * recorded */
	struct contexts contexts;
	struct times times;
	struct flows VEC_OF(struct event_flow) flows; /* addresses of flows, sorted by id */
	char *machine;
	bool by_request;            /* messages end at the reply or an end mark, not at the read */
	bool throttles;             /* some control group was throttled during the recording */
	struct hostlat_pids hostlat; /* load and conns are set by the caller of recorded_read() */
	uint64_t granularity;
	uint64_t lost;              /* number of lost messages, CPU span edges and wakings */
	uint64_t lost_messages;
	uint64_t names_lost;        /* how often a name could not be stored */
	uint64_t forgot;            /* how often the memory limit dropped old history */
	struct selection_out selected;
	uint64_t flows_lost;        /* number of connections beyond FLOWS_MAX */
	uint32_t cores;
	struct event_binding unbound[2]; /* by direction: a stage that messages need and that was
					  * not measured */
	struct event_damage damage;
};

struct excess_list VEC_OF(struct excess);

struct functions;
struct request_causes;
struct requests;
struct without;

struct diagnosis {
	struct diagnose_options options;
	/* other: recording of the reference messages, if it is not `own` */
	struct recorded own, other;
	bool against_other;
	struct baselines baselines;
	struct excess_list excesses; /* excess of each message to explain */
	struct excess_list near;     /* excess of each slow message below those */
	/* messages to explain whose application has too few reference messages */
	uint64_t without_baseline;
	struct functions *functions; /* NULL: functions were not recorded */
	struct requests *requests;  /* a load generator's slow requests, with the server's part
				     * of each; NULL: no load recording was given */
	struct request_causes *request_causes; /* causes of those; NULL: not known */
	struct without *without;     /* targets' least latency without a cause; NULL: not told */
	struct hist latency, target_latency, reference_latency;
	struct hist over_time[OVER_TIME_STEPS]; /* latencies of all messages, by time of the read */
};


/*
 * Read a recording, and divide the time of the selected messages. recorded_open() reads the
 * messages, recorded_explain() divides; recorded_read() does both. `also`: further messages to
 * divide, by their index in messages.all; NULL: none. Return 0 or -errno. Call recorded_release()
 * in any case.
 */
int recorded_open(struct recorded *rec, struct event_reader *reader, enum direction direction);
int recorded_explain(struct recorded *rec, const struct message_selection *selection,
		     const bool *also);
int recorded_read(struct recorded *rec, struct event_reader *reader,
		  const struct message_selection *selection);
void recorded_release(struct recorded *rec);

/* Returns a flow by its id; NULL: its addresses were not recorded. */
const struct event_flow *recorded_flows_find(const struct flows *flows, uint32_t id);
void recorded_flows_sort(struct flows *flows); /* sorts by id for recorded_flows_find() */

static inline const struct message *subject_message(const struct recorded *rec, uint32_t subject)
{
	return &rec->messages.all.items[rec->subjects.items[subject].message];
}

#endif
