/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coordinator with two agents that are pipes, for its tests: failures end the test that calls.
 * One rig at a time.
 */
#ifndef HOSTLAT_TESTS_AGENT_RIG_H
#define HOSTLAT_TESTS_AGENT_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "event/writer.h"
#include "load/coordinator.h"
#include "load/agent_list.h"

#define AGENTS 2

/* Our side of an agent. */
struct far {
	int in, out, err; /* as the agent has them */
	int file;         /* the writer's output, which the test sends in pieces of its choice */
	off_t sent;
	struct event_writer *writer;
};

struct seen {
	uint32_t samples[AGENTS], loads[AGENTS], finals[AGENTS], noises, flows;
	bool wrong;                     /* a sample is not as the agent meant it */
	char lost[AGENTS][1024];
	struct agent_list agents;
	uint64_t start[AGENTS];         /* by our clock */
};

extern struct far fars[AGENTS];
extern struct coordinator *c;
extern struct seen seen;
extern unsigned int killed; /* a bit for each agent that is lost */

uint64_t rig_now(void);

/* `to_file`: what the writers write is sent by rig_send(); else it goes at once. */
void rig_open(bool same_clock, bool to_file, uint32_t second_role);
void rig_close(void);

/* The agent is gone. */
void rig_hang_up(struct far *far);

off_t rig_unsent(const struct far *far);
void rig_send(struct far *far, off_t n);

/* Up to the start; and with the run of stream_run() written, not sent. */
void rig_begin(void);
void rig_start(void);

/* Takes what is there into `seen`; `second_flags`: those that samples of the second must have. */
void rig_turn(uint16_t second_flags);
void rig_finish(uint16_t second_flags); /* until both are over */
void rig_see_fact(const struct event *event);
void rig_check_whole(uint32_t agent);

#endif
