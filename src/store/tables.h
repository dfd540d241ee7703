/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a store. A row of a table is a struct, of which each column is a member: SQL, the
 * wire and CSV follow from the lists in tables.c alone.
 */
#ifndef HOSTLAT_STORE_TABLES_H
#define HOSTLAT_STORE_TABLES_H

#include <stddef.h>
#include <stdint.h>

/* Version of the tables. A store with another one is refused. */
#define STORE_SCHEMA 2

#define STORE_TEXT_MAX (1u << 20) /* bytes of a text */

enum store_type {
	STORE_U64,               /* uint64_t, at most INT64_MAX */
	STORE_TEXT,              /* const char *, any bytes but NUL; never NULL */
};

struct store_column {
	const char *name;
	enum store_type type;
	size_t offset;           /* offset of the member in the row */
	const char *help;        /* a sentence for the manual */
};

struct store_table {
	const char *name;
	const struct store_column *columns;
	unsigned int n;
	unsigned int keys;       /* the first columns: they identify a row, and order the rows */
	size_t row_size;
};

/* Shares of a class in the intervals of a window. */
struct store_shares {
	uint64_t known_ns;
	uint64_t limited_ns;     /* share times known time */
	uint64_t lost_ns;        /* time for which data waited */
	const char *series;      /* store/series.h */
};

/*
 * One recording's part of a window: it says that its connections are complete. The counts of
 * records are those of the whole recording.
 */
struct store_window {
	const char *host;
	uint64_t recording_ns;   /* CLOCK_REALTIME: start of the run that recorded */
	uint64_t window_ns;      /* CLOCK_REALTIME: begin of the window, a multiple of its length */
	/* bytes of the recording that were read, and how often names changed: more is later */
	uint64_t version;
	uint64_t length_ns, step_ns;
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME: what the recording has of it */
	uint64_t boot_ns;        /* CLOCK_REALTIME when the monotonic clock was 0 */
	uint64_t pid;            /* process of the run; 0: unknown */
	uint64_t connections;    /* rows of this window, recording and version */
	const char *kernel;
	const char *product;     /* model or instance type; "": unknown */
	const char *clock;       /* "synchronized", "not synchronized"; "": unknown */
	uint64_t clock_error_ns; /* the kernel's bound; 0: unknown */
	uint64_t time_error_ns;  /* error of the conversion to CLOCK_REALTIME */
	uint64_t read_to_ns;     /* CLOCK_REALTIME: end of the whole recording, as it was read */
	uint64_t ended;          /* 1: the run has ended, and all of it was read */
	uint64_t own, records, untimed, invalid, lost;
	uint64_t apps_hash;      /* hash of the table of --apps; 0: none */
	const char *damage;      /* "": none */
	const char *file;        /* as it was given */
	const char *addresses;   /* those of the host's ends of connections, with a blank between */
};

/* A connection in a recording's part of a window. */
struct store_connection {
	const char *host;
	uint64_t recording_ns, window_ns;
	uint64_t netns, cookie;  /* numbers of one boot */
	uint64_t version;
	const char *local, *remote; /* addresses; "": unknown */
	uint64_t local_port, remote_port;
	uint64_t accepted;       /* 1: the remote end opened it */
	const char *application; /* by the rules of the ingest */
	const char *unit, *cgroup, *command; /* "": unknown */
	struct store_shares send_buffer, receiver_window, delayed_ack, fast_retransmit, timeout,
		sender_app;
};

extern const struct store_table store_windows, store_connections;

/* Returns the value of a column of a row. */
uint64_t store_u64(const struct store_column *column, const void *row);
const char *store_text(const struct store_column *column, const void *row);

/* Returns the bytes of a row's values: 8 for a number, and those of texts. */
uint64_t store_row_bytes(const struct store_table *table, const void *row);

#endif
