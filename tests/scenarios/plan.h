/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: the words that describe what an end does with a connection:
 *
 *   write N    one call, until all of it has been taken
 *   read N     exactly that many bytes; some N: one call; drain: until the peer has closed
 *   sleep MS   from now; every MS: until the next multiple of MS since the plan began
 *   mark       notes the time
 *   barrier    until all connections of this process have come here
 *   relay N    one read of up to N bytes; all of them to the connection's next one
 *   turn       what follows is done with the next one, until it turns again
 *   ( N ... )  that many times, 0: until the connection or the program ends
 *   { MS ... } until so long has passed since the plan began; a step that waits is not cut short
 *
 * A plan ends early with the connection, with an error, and when the program is told to end.
 */
#ifndef SCENARIOS_PLAN_H
#define SCENARIOS_PLAN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define STEPS_MAX  512
#define TEXT_MAX   8192
#define DEPTH_MAX  4
#define MARKS_MAX  4096
#define STALLS_MAX 256
#define CALL_MAX   (1u << 20)

enum op {
	OP_WRITE, OP_READ, OP_SOME, OP_DRAIN, OP_SLEEP, OP_EVERY, OP_MARK, OP_BARRIER, OP_RELAY,
	OP_TURN, OP_LOOP, OP_UNTIL, OP_END,
};

struct plan {
	struct step {
		enum op op;
		double n;
		int other; /* at a loop's begin its end, and the other way round */
	} step[STEPS_MAX];
	int count;
	uint64_t stall_ns;            /* from when on a call that waits is told; 0: never */
	pthread_barrier_t *barrier;
	int stop_fd;                  /* readable when the program is to end */
};

/* One step that was done; times in ns, CLOCK_MONOTONIC. */
struct done {
	uint64_t begin, end;
	uint64_t written, writes, in_write, blocked; /* blocked: of the calls that slept */
	uint64_t read, reads, in_read, slept;
	unsigned int marks, stalls;
	uint64_t mark[MARKS_MAX];
	struct {
		uint64_t at, ns;
		bool write;
	} stall[STALLS_MAX];
	int error;                    /* errno, 0: none */
	bool eof;
};

/* NULL, or what is wrong with the text. */
const char *plan_parse(struct plan *plan, const char *text);

/* next: of relay and turn, -1 if there is none. */
void plan_run(const struct plan *plan, int fd, int next, struct done *done);

uint64_t plan_now(void);

#endif
