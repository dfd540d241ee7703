/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses what a script of tests/sim/trace_script.h says, and shows what was charged to what. */
#ifndef HOSTLAT_TESTS_DIAGNOSE_RIG_H
#define HOSTLAT_TESTS_DIAGNOSE_RIG_H

#include "diagnose/state.h"

/* ---- common first lines of scripts ---- */

#define HOST                                                                                       \
	"fact host.machine x86_64\n"                                                               \
	"fact run.pid 90\n"                                                                        \
	"task app 10 11\ntask peer 10 12\ntask hog 20 21\ntask hostlat 90 91\n"                    \
	"task ksoftirqd/0 7 7\ntask napi/eth0-1 8 8\n"

/* The reader waits on core 0 from 10 us on; a message comes there at 100 us. */
#define WAITS                                                                                      \
	HOST                                                                                       \
	"2us 0 run app\n5us 0 call epoll_wait\n10us 0 run idle\n"
#define COMES                                                                                      \
	"99us 0 irq 30\n100us 0 irq-end\n100us 0 softirq 3\n105us 0 wake app 0\n"                  \
	"106us 0 softirq-end\n"
/* It runs from 110 us on, reads, and the read is over at 120 us. */
#define READS                                                                                      \
	"110us 0 run app\n112us 0 return\n115us 0 call recvfrom\n121us 0 return\n"                 \
	"130us 0 call epoll_wait\n135us 0 run idle\n"
#define MESSAGE "message 1 app 100us 104us 120us 0\n"

#define RIG_TEXT 8192

struct rig {
	int fd;
	struct event_reader *reader;
	struct recorded rec;
};

/* Reads the recording in `fd`, which it closes in the end. All messages are targets. */
void rig_read(struct rig *rig, int fd);
/* The same; `load` is the pid of the run's load generator. */
void rig_read_of(struct rig *rig, int fd, uint64_t load);
/* Reads a recording's sent messages into the rig. */
void rig_read_sent(struct rig *rig, int fd);
void rig_release(struct rig *rig);

/* A nameless file with the recording of a script. */
int rig_file(const char *script);

/*
 * Slice by slice, of all messages in the order of their reads:
 * "message ID", "BEGIN-END CAUSE [receive] [on CORE] [by COMM] [behind ID]", ns since its arrival.
 */
void rig_show(const struct rig *rig, char text[RIG_TEXT]);

/* Both in one, of a script. */
void rig_charge(const char *script, char text[RIG_TEXT]);
void rig_charge_sent(const char *script, char text[RIG_TEXT]);

#define expect(script, text)                                                                       \
	do {                                                                                       \
		char seen_[RIG_TEXT];                                                              \
		rig_charge(script, seen_);                                                         \
		assert_string_equal(seen_, text);                                                  \
	} while (0)

#endif
