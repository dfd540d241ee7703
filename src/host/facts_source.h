/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that collect single facts, named in the rows of facts_collect.c. Each adds the fact
 * `key`, or several facts whose keys begin with it; `arg` is from the row.
 */
#ifndef HOSTLAT_HOST_FACTS_SOURCE_H
#define HOSTLAT_HOST_FACTS_SOURCE_H

#include "host/facts.h"
#include "host/root.h"

struct fact_source {
	const struct host_root *root;
	struct host_facts *facts;
};

typedef void fact_fn(const struct fact_source *source, const char *key, const char *arg);

/* facts_file.c: the value is the content of a file. */
fact_fn fact_proc;              /* a file in /proc */
fact_fn fact_sysctl;            /* a file in /proc/sys, by its dotted name, which is the key */
fact_fn fact_sys;               /* a file in /sys */
fact_fn fact_sys_choice;        /* a file in /sys with a choice: "always [madvise] never" */
/* arg "FOLDER:PREFIX:FILE", below /sys: all different values of FOLDER/PREFIX.../FILE */
fact_fn fact_sys_each;

/* facts_machine.c: kernel, processors, clocks, memory. */
fact_fn fact_machine;
fact_fn fact_virtualization;
fact_fn fact_container;
fact_fn fact_lockdown;
fact_fn fact_preempt;
fact_fn fact_tick;
fact_fn fact_cpu_count;
fact_fn fact_cpu_model;
fact_fn fact_idle_states;
fact_fn fact_vulnerabilities;
fact_fn fact_steal;
fact_fn fact_swap;
fact_fn fact_tai;
fact_fn fact_clock_synchronized;
fact_fn fact_clock_error;

/* facts_net.c: receive queues of the processors, interfaces. */
fact_fn fact_softnet;
fact_fn fact_interfaces;

#endif
