/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What coordinator and agent say to each other. Down, on the agent's stdin, lines of text; up, on
 * its stdout, an event stream (event/writer.h) that holds the run's events and answers as facts.
 * docs/design/load-agents.md has the reasons.
 *
 *	arg WORD      an option of the run, as on the command line; any number of them
 *	make          makes the engine: AGENT_STATE "made"
 *	clock N       AGENT_CLOCK "N", its time is the agent's
 *	connect       AGENT_STATE "connected". Meanwhile any line or the end of stdin ends it
 *	start NS      the schedule begins at that time of the agent's monotonic clock
 *	stop          sends nothing more, drains, and ends with LOAD_FINAL
 *	cut           sends nothing more, and ends with LOAD_FINAL at once
 *
 * What can't be done is AGENT_ERROR with a sentence, and the end. The end of stdin, or nothing on
 * it for AGENT_SILENCE_NS, ends the agent at once, whatever it does.
 */
#ifndef HOSTLAT_LOAD_AGENT_H
#define HOSTLAT_LOAD_AGENT_H

#define AGENT_STATE "agent.state"
#define AGENT_MADE "made"
#define AGENT_CONNECTED "connected"
#define AGENT_CLOCK "agent.clock"
#define AGENT_VERSION "agent.version" /* of hostlat; its first words */
#define AGENT_ERROR "agent.error"

#define AGENT_LINE_MAX 8192

/* In ns. The coordinator says something more often. While the agent connects it does not count. */
#define AGENT_SILENCE_NS 30000000000ULL

#endif
