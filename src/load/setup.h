/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The complete configuration of a run, as facts "load.NAME" at the start of its stream, so that a
 * recording is analyzed exactly as the live run.
 */
#ifndef HOSTLAT_LOAD_SETUP_H
#define HOSTLAT_LOAD_SETUP_H

#include "event/source.h"
#include "load/analysis.h"
#include "load/config.h"
#include "load/url_list.h"
#include "report/report.h"

#define LOAD_SETUP_TEXT_MAX 4352 /* bytes of the longest path, with a prefix */

#define LOAD_SETUP_NICS_MAX 1024
#define LOAD_SETUP_REQUEST_MAX (OPT_LIST_MAX + 16) /* facts of struct request_options, at most */

/* EV_FACT event per target: the URL without its password, from the engine or the coordinator. */
#define LOAD_FACT_TARGET "load.target"

/* EV_FACT event per command of --command, in their order. */
#define LOAD_FACT_COMMAND "load.command"

/* EV_FACT event per address of a host name that a connection used: "NAME is ADDRESS". */
#define LOAD_FACT_ADDRESS "load.address"

/* EV_FACT event per address of a name that failed at the start: "ADDRESS of NAME: reason". */
#define LOAD_FACT_DEAD_ADDRESS "load.dead_address"

/* With NIC stamps: EV_FACT per network interface; at the end, the stamps' largest error in ns. */
#define LOAD_FACT_NIC "load.nic"
#define LOAD_FACT_NIC_ERROR "load.nic_error_ns"

/* EV_FACT event per thread at the end: LOAD_CORE() of its samples, and its tid. */
#define LOAD_FACT_THREAD "load.thread"

/* EV_FACT events during the run, at the point of the stream to which they apply. */
#define LOAD_FACT_INTERRUPTED "load.interrupted"
#define LOAD_FACT_AGENT_LOST "load.agent_lost" /* "NUMBER: reason" */

struct load_setup {
	struct load_config config; /* configuration of the load; facts do not set its targets */
	struct load_analysis_config analysis;
	char arrival[LOAD_SETUP_TEXT_MAX];     /* text of config.arrival and analysis.arrival */
	char workload[LOAD_SETUP_TEXT_MAX];    /* text of config.workload; "" if it is NULL */
	char ca[LOAD_SETUP_TEXT_MAX];          /* text of config.ca_file; "" if it is NULL */
	char cert[LOAD_SETUP_TEXT_MAX];        /* text of config.cert_file; "" if it is NULL */
	char expect[LOAD_SETUP_TEXT_MAX];      /* text of config.expect; "" if it is NULL */
	char abort_on[LOAD_SETUP_TEXT_MAX];    /* text of config.abort_on; "" if it is NULL */
	char urls_file[LOAD_SETUP_TEXT_MAX];   /* text of config.urls_file; "" if it is NULL */
	char bind[LOAD_SETUP_TEXT_MAX];        /* text of config.bind; "" if it is NULL */
	char replay[LOAD_SETUP_TEXT_MAX];      /* text of config.replay; "" if it is NULL */
	char *targets[LOAD_TARGETS_MAX];       /* URLs from LOAD_FACT_TARGET; owned */
	uint32_t n_targets;
	char *request[LOAD_SETUP_REQUEST_MAX]; /* "NAME VALUE" of LOAD_FACT_REQUEST; owned */
	uint32_t n_request;
	char *commands[OPT_LIST_MAX];          /* texts from LOAD_FACT_COMMAND; owned */
	uint32_t n_commands;
	/* "NAME is ADDRESS" of the host names used, separated by ", "; may be "" */
	char addresses[LOAD_SETUP_NICS_MAX];
	/* "ADDRESS of NAME: reason" of the names' addresses that failed, separated by newlines */
	char dead[LOAD_SETUP_NICS_MAX];
	char nics[LOAD_SETUP_NICS_MAX];        /* NIC names (LOAD_FACT_NIC), separated by ", " */
	uint64_t nic_error_ns;                 /* largest error of NIC stamps; 0: none converted */
	uint64_t seen;                         /* bit mask of facts read, by index in facts[] */
};

/*
 * Initializes a setup from configs; copies texts. Returns 0, -ENAMETOOLONG, or -EINVAL with a
 * sentence in `why`. The setup contains pointers into itself: do not move it after this function or
 * load_setup_complete().
 */
int load_setup_init(struct load_setup *setup, const struct load_config *config,
		    const struct load_analysis_config *analysis, struct strbuf *why);

int load_setup_put(const struct load_setup *setup, struct event_sink *sink, uint64_t now);

/* Puts the URL of each target of a list, without its password, as LOAD_FACT_TARGET. */
int load_setup_put_targets(struct event_sink *sink, uint64_t now, const struct url_list *urls);

/* Frees what facts have added. Accepts a zeroed setup. */
void load_setup_release(struct load_setup *setup);

/*
 * Adds a fact to a setup that was zeroed at first; ignores unknown keys. Returns 0, -ENOMEM, or
 * -EBADMSG for an invalid value.
 */
int load_setup_add_fact(struct load_setup *setup, const char *key, const char *value);

/*
 * Completes a setup after all facts. Returns 0, or -EBADMSG if facts are missing: the stream is no
 * recording of `load`.
 */
int load_setup_complete(struct load_setup *setup);

/* Names of the values of config.loop and config.stamps. */
extern const char *const load_setup_loops[], *const load_setup_stamps[];

#endif
