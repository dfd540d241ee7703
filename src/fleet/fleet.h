/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis behind `hostlat fleet`: which application, host, rack or link is behind the problems
 * of many hosts' connections. Readings of connections in, findings out; pure.
 *
 *	f = fleet_new(&grid);
 *	err = fleet_resource(f, FLEET_HOST, "web1", &host);
 *	err = fleet_connection(f, &conn, &index);
 *	err = fleet_add(f, index, &reading);            in order of time for each connection
 *	err = fleet_analyze(f, &options, &result);
 *	err = fleet_report(f, &result, &view, &report);   fleet/report.h
 *
 * docs/design/fleet-rates.md, fleet-together.md and fleet-pipelines.md explain the statistics.
 */
#ifndef HOSTLAT_FLEET_FLEET_H
#define HOSTLAT_FLEET_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "report/report.h"

/* Version of the JSON document, for struct provenance. */
#define FLEET_SCHEMA 1

#define FLEET_INTERVALS_MAX 43200u   /* 24 h of 2 s */
#define FLEET_RESOURCES_MAX 1000000u
#define FLEET_CONNECTIONS_MAX 2000000u
#define FLEET_CELLS_MAX (4UL << 30)  /* bytes of connections' shares by interval */
#define FLEET_SHARES_MAX 32u         /* resources of one connection */
#define FLEET_STEPS 250u         /* a share in an interval is stored in steps of 1/250 */
#define FLEET_UNKNOWN 255u
#define FLEET_NONE UINT32_MAX        /* no resource, no connection, no finding */

/*
 * Classes of problems, each a series of its own: never concatenated. SENDER_APP is no problem; it
 * is what a pipeline's other half shows.
 */
enum fleet_class {
	FLEET_SEND_BUFFER,       /* share of time with a full send buffer */
	FLEET_RECEIVER_WINDOW,   /* share of time limited by the receiver's window */
	FLEET_DELAYED_ACK,       /* share of time held for the peer's delayed ACKs */
	FLEET_FAST_RETRANSMIT,   /* 1 in an interval with a fast retransmission, else 0 */
	FLEET_TIMEOUT,           /* 1 in an interval with a retransmission timeout, else 0 */
	FLEET_SENDER_APP,        /* share of time in which the application gave no data */
	FLEET_CLASSES,
};

/* Kinds of shared resources. Coarser ones contain finer ones only as far as the hosts say so. */
enum fleet_kind {
	FLEET_HOST,
	FLEET_CONTAINER,
	FLEET_APP,
	FLEET_SERVICE,           /* remote address and port to which connections go */
	FLEET_RACK,
	FLEET_SWITCH,
	FLEET_LINK,
	FLEET_KERNEL,
	FLEET_INSTANCE,          /* instance type or model of the host */
	FLEET_KINDS,
};

/* The time to analyze: interval k is [start_ns + k step_ns, + step_ns) of CLOCK_REALTIME. */
struct fleet_grid {
	uint64_t start_ns, step_ns;
	uint32_t intervals;      /* 1 to FLEET_INTERVALS_MAX */
};

struct fleet_conn {
	uint32_t host;           /* resource of kind FLEET_HOST */
	const uint32_t *shares;  /* all resources that it shares, `host` among them, each once */
	uint32_t n;
	uint64_t cookie;
	const char *name;        /* such as "10.0.0.1:80 > 10.0.0.2:40000" */
};

/* A connection in a stretch of time. */
struct fleet_reading {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME */
	uint32_t known;          /* mask of 1 << enum fleet_class; a class that is not is unknown */
	double share[FLEET_CLASSES]; /* 0 to 1 */
	uint64_t lost_ns[FLEET_CLASSES]; /* time for which data waited */
};

struct fleet;

/* Returns a new analysis; NULL without memory or for an impossible grid. */
struct fleet *fleet_new(const struct fleet_grid *grid);
void fleet_free(struct fleet *f);

/* Sets *index of the resource of this kind and name, made if new. Returns 0, -ENOMEM or -E2BIG. */
int fleet_resource(struct fleet *f, enum fleet_kind kind, const char *name, uint32_t *index);

/* Returns the resource of this kind and name; FLEET_NONE: there is none. */
uint32_t fleet_find(const struct fleet *f, enum fleet_kind kind, const char *name);

/* Adds a connection, copying its lists. Returns 0, -EINVAL, -ENOMEM or -E2BIG. */
int fleet_connection(struct fleet *f, const struct fleet_conn *conn, uint32_t *index);

/*
 * Adds a reading: each interval that it overlaps takes it by the time of the overlap. An interval
 * is known where readings cover at least half of it. Returns 0, -ENOMEM, -E2BIG beyond
 * FLEET_CELLS_MAX, or -EINVAL for impossible values and times that go back.
 */
int fleet_add(struct fleet *f, uint32_t conn, const struct fleet_reading *reading);

/* Shares of one class in successive intervals, and what they amount to. */
struct fleet_stretch {
	uint32_t first, n;       /* intervals of the grid */
	const uint8_t *cells;    /* n shares in steps of 1/FLEET_STEPS, or FLEET_UNKNOWN */
	uint64_t known_ns, limited_ns, lost_ns;
};

/*
 * Adds a stretch, which begins after the last one of the class; or at its last interval, of which
 * two recordings may each have a part: the larger share counts. A connection has either readings or
 * stretches. Returns 0, -ENOMEM, -E2BIG beyond FLEET_CELLS_MAX, or -EINVAL for impossible ones.
 */
int fleet_add_stretch(struct fleet *f, uint32_t conn, enum fleet_class class,
		      const struct fleet_stretch *stretch);

/* Sets the sums of all of the connection's readings in the class. Returns whether any is known. */
bool fleet_totals(const struct fleet *f, uint32_t conn, enum fleet_class class,
		  struct fleet_stretch *out);

/*
 * Copies the shares of n intervals of the class, from `first` on: in steps of 1/FLEET_STEPS, or
 * FLEET_UNKNOWN.
 */
void fleet_cells(const struct fleet *f, uint32_t conn, enum fleet_class class, uint32_t first,
		 uint32_t n, uint8_t *out);

/* How a problem shows. */
enum fleet_evidence {
	FLEET_MORE,              /* the resource's connections have it more than others do */
	FLEET_TOGETHER,          /* they have it at the same times */
	FLEET_AT_ONCE,           /* rare: many had it in one short stretch of time */
	FLEET_EVIDENCES,
};

struct fleet_member {
	uint32_t conn;
	double score;            /* standard deviations from no relation */
};

struct fleet_finding {
	enum fleet_evidence evidence;
	enum fleet_class class;
	uint32_t resource;
	uint32_t hosts;          /* hosts of the resource's connections with known time */
	uint32_t connections;    /* with known time in the class */
	uint32_t affected;       /* with the problem in any interval */
	uint32_t defined;        /* not constant over time: these can be correlated */
	double share;            /* part of their known time with the problem */
	double share_others;     /* the same of connections outside; NaN: none */
	double rho;              /* mean correlation of pairs of different children; NaN: n/a */
	double z;                /* statistic, in standard deviations */
	double p;                /* chance of as much without a common cause, adjusted (FDR) */
	uint64_t lost_ns;        /* time lost of its connections */
	uint64_t excess_ns;      /* beyond what others lose in as much known time */
	uint64_t from_ns, to_ns; /* AT_ONCE: the stretch; else the whole window */
	uint32_t within;         /* index of the finding of a coarser resource around it; or NONE */
	uint32_t first, n;       /* the connections behind it: in members, strongest first */
	uint32_t first_same, n_same; /* resources with the same connections: in same */
};

/*
 * An application that has nothing to send when, or shortly after, connections of a resource have a
 * problem on the same hosts. A connection is never compared with itself or its other end.
 */
struct fleet_pipeline {
	enum fleet_class class;
	uint32_t resource;       /* application or service with the problem */
	uint32_t application;    /* the one that waits; may be the same */
	uint32_t hosts;          /* with connections of both that are not constant */
	uint32_t hosts_with;     /* hosts that show it by themselves */
	uint32_t connections;    /* on these hosts, not constant: of the resource */
	uint32_t waiting;        /* the same, of the application */
	uint32_t lag;            /* intervals by which it follows where they correlate most */
	bool later;              /* that it follows, instead of both at once, is significant */
	double rho;              /* mean correlation of two connections */
	double z, p;             /* as in fleet_finding */
	double share;            /* part of the time in which the application gives no data */
	double share_otherwise;  /* the same while the resource does not have the problem */
	uint64_t waiting_ns;     /* time without data beyond share_otherwise, of all connections */
};

struct fleet_findings VEC_OF(struct fleet_finding);
struct fleet_pipelines VEC_OF(struct fleet_pipeline);
struct fleet_members VEC_OF(struct fleet_member);
struct fleet_same VEC_OF(uint32_t);

struct fleet_result {
	struct fleet_findings findings; /* most excess first; finer ones after their `within` */
	struct fleet_members members;
	struct fleet_same same;  /* resources */
	struct fleet_pipelines pipelines; /* most waiting first */
	uint32_t pipelines_tested, pipelines_too_few; /* pairs, times classes; as below */
	uint32_t tested;         /* resources times classes that were tested */
	uint32_t too_few;        /* could not be, for lack of hosts, connections or intervals */
};

struct fleet_options {
	double alpha;            /* share of false findings, such as 0.05 */
	uint64_t seed;           /* seed of the circular shifts */
};

/* Fills in the result. Returns 0 or -ENOMEM; call fleet_result_release() in either case. */
int fleet_analyze(const struct fleet *f, const struct fleet_options *options,
		  struct fleet_result *out);
void fleet_result_release(struct fleet_result *result);

/* Returns a name such as "fast-retransmit" or "rack"; static. */
const char *fleet_class_name(unsigned int class);
const char *fleet_kind_name(unsigned int kind);

#endif
