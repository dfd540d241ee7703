/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between coordinator and agent. The coordinator writes lines of text to the agent's
 * stdin. The agent writes an event stream (event/writer.h) to its stdout: the run's events, and its
 * answers as facts. docs/design/load-agents.md has the reasons.
 *
 *	arg WORD      an option of the run, as on the command line, with line ends as "\n"
 *	              (base/opt_words.h); any number of them
 *	env NAME=TEXT sets an environment variable, the secret of an option; any number of them
 *	make          makes the engine, and answers AGENT_STATE "made"
 *	clock N       answers AGENT_CLOCK "N"; the time of this fact is the agent's clock
 *	connect       connects, and answers AGENT_STATE "connected"; until then, any line aborts
 *	start NS      begins the schedule at time NS of the agent's monotonic clock
 *	stop          stops sending, waits for replies, and ends with LOAD_FINAL
 *	cut           stops sending, and ends with LOAD_FINAL without waiting for replies
 *
 * If the agent cannot carry out a command, it answers AGENT_ERROR with a sentence and ends. It also
 * ends at once when stdin ends, or when nothing arrives on stdin for AGENT_SILENCE_NS.
 */
#ifndef HOSTLAT_LOAD_AGENT_H
#define HOSTLAT_LOAD_AGENT_H

#define AGENT_STATE "agent.state"
#define AGENT_MADE "made"
#define AGENT_CONNECTED "connected"
#define AGENT_CLOCK "agent.clock"
#define AGENT_VERSION "agent.version" /* hostlat's version; the first fact that an agent sends */
/* "GRANTED ASKED", names of priorities of the agent's threads; before AGENT_MADE; may be missing */
#define AGENT_PRIORITY "agent.priority"
#define AGENT_ERROR "agent.error"

#define AGENT_LINE_MAX 16384

/* An agent ends if its stdin brings no line for this long (ns), except while it connects. */
#define AGENT_SILENCE_NS 30000000000ULL

#endif
