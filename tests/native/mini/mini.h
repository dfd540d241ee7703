/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small epoll server and its client, that know what delayed each request, because they did it:
 * see mini.c. All times are CLOCK_MONOTONIC in ns; the log is shared by both processes.
 */
#ifndef MINI_H
#define MINI_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define THREADS_MAX 4
#define CONNECTIONS_MAX 64
#define LOG_MAX (1u << 17)
#define NSEC_PER_SEC 1000000000ull

enum cause {
	CAUSE_NONE,
	CAUSE_BURST,	/* the server has other work */
	CAUSE_LOCK,	/* a thread of it holds a futex that the server waits for */
	CAUSE_FAULT,	/* a page that the server touches is not there: userfaultfd */
	CAUSE_STOP,	/* SIGSTOP, then SIGCONT, from the client */
	CAUSE_NUMA,	/* NUMA balancing: the kernel fetches pages of another node at a touch */
	CAUSE_GAP,	/* not asked for: the server's own work did not go on */
	CAUSE_MAX,
};

struct options {
	const char *address, *server_netns, *client_netns;
	int server_cpu, client_cpu;	/* -1: anywhere */
	int server_nice;
	unsigned int threads, connections;
	unsigned int per_event;		/* reads from one connection before the next one's turn */
	unsigned int rounds, gap_us;	/* one request in each, at planned times */
	unsigned int every;		/* one round of so many is a bad one; 0: none */
	unsigned int burst;		/* in it: so many requests at once on one connection */
	unsigned int behind;		/* requests behind it, each on another connection */
	unsigned int apart_us;		/* time between the request and those behind it */
	unsigned int service_us;
	unsigned int behind_us;		/* service of those behind */
	unsigned int cause_us;
	enum cause cause;		/* in it */
	bool before;			/* it happens before its first request is read, not after */
};

/* The message that travels both ways. */
struct request {
	uint32_t conn, seq;
	uint32_t service_us;
	uint32_t now_us;	/* cause: in this one's service */
	uint32_t next_us;	/* cause: before the next request is read */
	uint32_t number;		/* its number in the log */
	uint8_t pad[40];
};

struct served {
	uint32_t conn, seq, tid, bad;
	uint64_t planned, sending, sent, replied;	/* by the client */
	/* By the server: its receive call, the end of its work for it, the end of its answer. */
	uint64_t entry, read, end, done;
};

struct injected {
	enum cause cause;
	uint32_t tid;			/* whom it held up; 0: the server */
	uint32_t culprit;		/* tid of who did it */
	uint64_t begin, end;
};

struct log {
	_Atomic uint32_t listening, ready, go, quit;	/* futexes */
	uint16_t port;
	pid_t server, client;
	uint32_t tids[THREADS_MAX], holder, pager;
	_Atomic uint64_t released;	/* when one of these let the server go on */
	_Atomic uint32_t n_injected;
	uint32_t n_served;
	struct served served[LOG_MAX];
	struct injected injected[LOG_MAX];
};

extern struct options opt;
extern struct log *mini;

void die(const char *what);
void must(bool ok, const char *what);
uint64_t now_ns(void);
void sleep_until(uint64_t ns);
void word_raise(_Atomic uint32_t *word);
void word_await(_Atomic uint32_t *word, uint32_t least);
void enter_netns(const char *netns);
void pin(int cpu);
uint32_t own_tid(void);

/* Places in the log; what doesn't fit ends the program. */
void log_injected(enum cause cause, uint32_t tid, uint32_t culprit, uint64_t begin, uint64_t end);

/* On the CPU for that long; where it did not go on is logged as CAUSE_GAP. */
void spin(uint64_t ns);

/* Starts what opt.cause names, for the calling thread. */
void causes_begin(void);
uint32_t cause_helpers(void);	/* threads that it needs */
void cause_now(uint32_t us);

void server(void);
void client(void);

#endif
