/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of a run without --rate: half of the rate that one connection reaches that sends each
 * request after the reply to the one before. A server that answers such requests one at a time is
 * then busy half of the time at most, and every other server less.
 */
#ifndef HOSTLAT_CMD_LOAD_RATE_H
#define HOSTLAT_CMD_LOAD_RATE_H

#include "base/keys.h"
#include "base/stop.h"
#include "cmd/load_options.h"

/* Returns the rate, per second, for what the connection reached: two digits, at most 10,000. */
double load_rate_from(double probed);

/*
 * Measures for a second the rate that one connection reaches, per second, and logs that of the run.
 * Returns EXIT_OK or, after a message, another exit code.
 */
int load_rate_probe(const struct load_options *o, struct stop *stop, struct keys *keys, bool quiet,
		    double *probed);

/* Writes what the connection reached into a new file, and reads it. Return 0 or -errno. */
int load_rate_write(const char *path, double probed);
int load_rate_read(const char *path, double *probed);

/* Logs which rate was chosen, and how to change it. */
void load_rate_log(double probed);

#endif
