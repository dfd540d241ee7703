/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary's words of hostlat fleet: columns, evidence, resources and problems. */
#include "cmd/glossary_rows.h"

#include "fleet/fleet.h"

const struct glossary_text glossary_evidence[FLEET_EVIDENCES] = {
	[FLEET_MORE] = {
		.what = "The resource's connections have the problem for more of the time than "
			"comparable ones elsewhere: twice as much or more.",
		.effect = "Comparable connections, such as those of the same application on other "
			  "hosts, do well. So the cause is at the resource.",
		.todo = "Look at columns share and others, then do what the finding says.",
	},
	[FLEET_TOGETHER] = {
		.what = "The resource's connections, of different hosts, have the problem at the "
			"same times.",
		.effect = "They have a common cause, at the resource or at something else that "
			  "they share: without --topology it may be a rack or link.",
		.todo = "Look at what happened at these times: hostlat report makes a page of the "
			"JSON, with the course of time. Give --topology.",
	},
	[FLEET_AT_ONCE] = {
		.what = "Many of the resource's connections had a rare problem within one short "
			"stretch of time, which the sentence names.",
		.effect = "It was one event, such as a failing port or a burst. It may be over.",
		.todo = "Look for changes, jobs and errors of that time.",
	},
};

const struct glossary_text glossary_kinds[FLEET_KINDS] = {
	[FLEET_HOST] = {
		.what = "The recorded host, and the remote one if its address is known: from "
			"--topology, or because connections in its recording have the address.",
		.effect = "An address of several hosts, as of a container bridge, tells nothing.",
		.todo = "For hosts without a recording, give their addresses: --topology, column "
			"addresses.",
	},
	[FLEET_CONTAINER] = {
		.what = "A container, by its label and host.",
		.todo = "Give containers of one application its name (--apps, column container).",
	},
	[FLEET_APP] = {
		.what = "The name by --apps, or else the systemd unit, or else the command. In a "
			"container or a login session, the command.",
		.effect = "Processes of one name are compared with all others.",
		.todo = "Write a table of names (--apps) where one command is of several "
			"applications, such as java.",
	},
	[FLEET_SERVICE] = {
		.what = "Remote address and port of a connection that this host opened.",
		.effect = "A connection that this host accepted has none: it shares the "
			  "application that accepted it.",
		.todo = "Record the hosts of the service as well: their ends show its problems.",
	},
	[FLEET_RACK] = {
		.what = "The rack of a host, by --topology, and all that connections into and out "
			"of it cross.",
		.effect = "A rack is reported if several of its hosts agree, never for one bad "
			  "host.",
		.todo = "Check the rack's switch: drop and error counters, then cables and optics.",
	},
	[FLEET_SWITCH] = {
		.what = "A switch above a rack or another switch, by --topology.",
		.effect = "A connection crosses the switches up to the lowest ones above both of "
			  "its racks.",
		.todo = "Check its ports' drop and error counters.",
	},
	[FLEET_LINK] = {
		.what = "A link between two hosts, racks or switches, by --topology.",
		.effect = "A connection crosses each link both of whose ends are on its path. Of "
			  "several ways it may take, it shares all.",
		.todo = "Check drop and error counters at both ends, then cable and optics.",
	},
	[FLEET_KERNEL] = {
		.what = "The version of the hosts' kernel.",
		.todo = "Compare settings and drivers of these hosts with those of the others.",
	},
	[FLEET_INSTANCE] = {
		.what = "The model of the machine, or the instance type where the cloud tells it "
			"as such. A column of --topology replaces it.",
		.todo = "Compare drivers and limits of these hosts with those of the others.",
	},
};

#define EVENTS "An interval (--step) counts if it has one: column share is a share of intervals."

const struct glossary_text glossary_fleet_classes[FLEET_CLASSES] = {
	[FLEET_SEND_BUFFER] = {
		.what = "The share of time in which the send buffer is full.",
		.todo = "Do what the finding says: it depends on the resource.",
	},
	[FLEET_RECEIVER_WINDOW] = {
		.what = "The share of time in which the receiver's window is the limit.",
		.todo = "Do what the finding says: it depends on the resource.",
	},
	[FLEET_DELAYED_ACK] = {
		.what = "The share of time in which data waits for ACKs that the peer delays.",
		.todo = "Do what the finding says: it depends on the resource.",
	},
	[FLEET_FAST_RETRANSMIT] = {
		.what = "Lost segments were sent again because later ones were acknowledged. "
			EVENTS,
		.todo = "Give --topology, so that racks and links are tested; then do what the "
			"finding says.",
	},
	[FLEET_TIMEOUT] = {
		.what = "Lost segments were sent again after a timeout. " EVENTS,
		.todo = "Give --topology, so that racks and links are tested; then do what the "
			"finding says.",
	},
	[FLEET_SENDER_APP] = {
		.what = "The share of time in which the application gives no data. It is no "
			"problem by itself: it shows who waits for whom.",
		.todo = "Look at the table of applications that wait.",
	},
};

const struct glossary_reason glossary_columns[] = {
	{ "resource", NULL, {
		.what = "What connections share: a host, application, service, container, rack, "
			"switch, link, kernel version or instance type.",
		.todo = "Ask hostlat help about these words.",
	} },
	{ "problem", NULL, {
		.what = "The problem of the connections: send-buffer, receiver-window, "
			"delayed-ack, fast-retransmit or timeout.",
		.todo = "Ask hostlat help about these words.",
	} },
	{ "how", NULL, {
		.what = "What shows the problem: evidence more-often, together or at-once.",
		.todo = "Ask hostlat help about these words.",
	} },
	{ "connections", NULL, {
		.what = "Connections with the problem, of all at the resource. Each end that was "
			"recorded counts.",
	} },
	{ "members", NULL, {
		.what = "The connections behind a finding, such as the 7 of 35 that go together. "
			"The sentence names the strongest, --all names more, and JSON has all "
			"(culprits).",
		.todo = "Run hostlat conns --from on the recording of a member's host.",
	} },
	{ "hosts", NULL, {
		.what = "Hosts of these connections; in the table of applications that wait, hosts "
			"that show it, of those that have both.",
	} },
	{ "share", NULL, {
		.what = "Mean share of time with the problem, of all connections at the resource. "
			"Of retransmissions, the share of intervals with one. In the table of "
			"applications that wait, of the time with nothing to send while the "
			"problem is there.",
	} },
	{ "others", NULL, {
		.what = "The same share of comparable connections elsewhere: those of the same "
			"application, host or rack. n/a: there are none.",
	} },
	{ "together", NULL, {
		.what = "Mean correlation of the connections on different hosts, from -1 to 1. "
			"Seven of 35 that go together make 0.04.",
	} },
	{ "p", NULL, {
		.what = "Chance of as much without a cause, adjusted for the number of tests. Of "
			"all findings, 5 % are false at most.",
	} },
	{ "lost", NULL, {
		.what = "Time for which data waited because of the problem, of all connections at "
			"the resource.",
	} },
	{ "excess", NULL, {
		.what = "The part of the lost time beyond what others lost in as much time.",
		.effect = "Findings are in this order: it is what mending the resource can win.",
	} },
	{ "waiting", NULL, {
		.what = "The application that has nothing to send while others have a problem.",
	} },
	{ "behind-it", NULL, {
		.what = "The resource whose connections have the problem meanwhile, on the same "
			"hosts.",
		.todo = "Solve this problem: the waiting application is its victim.",
	} },
	{ "later", NULL, {
		.what = "How much later the waiting begins; n/a: no order is significant.",
	} },
	{ "otherwise", NULL, {
		.what = "The part of the time with nothing to send while the problem is not there.",
	} },
	{ "more-waiting", NULL, {
		.what = "Time with nothing to send beyond column otherwise, of all connections.",
	} },
	{ "at-all", NULL, {
		.what = "The share of an application's connections that have the problem at any "
			"time.",
	} },
	{ "over", NULL, {
		.what = "The share of an application's connections that have the problem for more "
			"than so much of their time, or of their intervals.",
	} },
	{ "by-the-paper", NULL, {
		.what = "The kind of a resource that the method of the SNAP paper finds (--paper): "
			"the average correlation of its connections is above 0.4.",
		.effect = "The method has no significance: it misses groups of a few connections, "
			  "and finds some that are chance.",
	} },
	{ "not-constant", NULL, {
		.what = "The connections that have a problem at times: these can be correlated.",
	} },
	{ "mean-correlation", NULL, {
		.what = "The average correlation of two connections by the method of the SNAP "
			"paper (--paper).",
	} },
	{ "file", NULL, {
		.what = "The recording that was ingested.",
	} },
	{ "windows", NULL, {
		.what = "Stretches of time (--window) that a recording has.",
	} },
	{ "stored", NULL, {
		.what = "The windows that the store did not have yet, and has now.",
	} },
	{ "bytes", NULL, {
		.what = "The size of the rows that were stored, before the store compresses them.",
	} },
	{ "bytes-a-day", NULL, {
		.what = "The size of the rows of a day like the recorded time.",
	} },
	{ NULL, NULL, {} },
};
