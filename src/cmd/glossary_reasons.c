/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary's reasons of other commands than load, and of several commands. */
#include "cmd/glossary_rows.h"

#define LESS_TRAFFIC "measure less traffic (watch, record: --port, --pid, --ifname, --sample)"

const struct glossary_reason glossary_other_reasons[] = {
	{ "damaged", "load, watch, conns, compare, fleet", {
		.what = "The recording is not whole: its end is missing, or a checksum is wrong.",
		.effect = "The readable part is shown; the rest is missing from it.",
		.todo = "If its writer was killed, or the disk was full, record again. Otherwise "
			"copy the file again and compare checksums.",
	} },
	{ "recording-incomplete", "commands that read recordings", {
		.what = "The recording is undamaged but lacks a part of the run: it reached its "
			"--size-limit, could not be written any further, or its writer was killed.",
		.effect = "The recorded part is shown.",
		.todo = "Raise --size-limit or make room on the disk, and record again.",
	} },
	{ "losses", "watch, conns", {
		.what = "Packets or events that should have been measured were not; losses[] and "
			"the text name the reasons.",
		.effect = "The other packets are measured right. What was lost is in no "
			  "distribution.",
		.todo = "Ask hostlat help for the reason that is named, such as fifo-full. If none "
			"is, " LESS_TRAFFIC ".",
	} },
	{ "stage-not-measured", "watch, record", {
		.what = "This kernel accepts none of the stage's hooks; the text says why.",
		.effect = "The stage is n/a. The step of the next stage begins one stage earlier.",
		.todo = "hostlat doctor lists the hooks and what each needs: root, a newer "
			"kernel, BTF. Leave the stage out with --stages to get a whole result.",
	} },
	{ "hook-missing", "watch, record", {
		.what = "This kernel refused a hook that makes numbers more exact or complete.",
		.effect = "Some numbers may be incomplete or less exact; the text says which.",
		.todo = "hostlat doctor lists the hooks and what each needs.",
	} },
	{ "namespace-not-covered", "watch, record", {
		.what = "A network namespace was without a hook for a part of the time: it is new, "
			"or its hook was refused.",
		.effect = "Stages ip and transport miss the packets of that namespace.",
		.todo = "Start hostlat after the containers, as root; or choose another hook with "
			"--backend fentry.",
	} },
	{ "events-lost", "watch, conns, diagnose, fleet", {
		.what = "The kernel made events faster than hostlat could read or write them.",
		.effect = "What was lost is missing. diagnose charges its time to blind.",
		.todo = "Give hostlat CPU time, and " LESS_TRAFFIC ". record: fewer kinds in "
			"--with, and no --activity funcgraph.",
	} },
	{ "names-not-kept", "watch, conns, diagnose", {
		.what = "A run stores at most 65,536 names of each kind and 4 MiB in total.",
		.effect = "Some tasks, units or functions have a number instead of a name.",
		.todo = "Measure for a shorter time, or " LESS_TRAFFIC ".",
	} },
	{ "connections-not-followed", "conns", {
		.what = "Following every new connection would have taken more than --cpu-budget "
			"allows.",
		.effect = "Sums cover the followed connections only, which a hash of the addresses "
			  "selected.",
		.todo = "Raise the upper bound of --cpu-budget.",
	} },
	{ "calls-not-logged", "conns", {
		.what = "Logging every call would have taken more than half of --cpu-budget.",
		.effect = "The log of --calls has gaps, which it marks.",
		.todo = "Raise the upper bound of --cpu-budget, or log fewer connections.",
	} },
	{ "no-memory", "conns", {
		.what = "There was no memory to follow a connection.",
		.effect = "The connection is missing.",
		.todo = "Free memory, or raise the memory limit of hostlat's control group.",
	} },
	{ "ends-not-told", "conns", {
		.what = "Connections closed faster than hostlat could read their last records.",
		.effect = "The connections' last interval is missing.",
		.todo = "Give hostlat CPU time, or raise the upper bound of --cpu-budget.",
	} },
	{ "timers-not-counted", "conns", {
		.what = "Some timers of delayed ACKs and loss probes could not be counted.",
		.effect = "delayed_acks and tlp are too low.",
		.todo = "Leave intervals with this reason out of comparisons.",
	} },
	{ "programs-skipped", "conns", {
		.what = "The kernel skipped runs of BPF programs that would have interrupted "
			"themselves.",
		.effect = "Their events are missing.",
		.todo = "Leave intervals with this reason out of comparisons.",
	} },
	{ "events-invalid", "watch, conns, fleet", {
		.what = "Some events had impossible values.",
		.effect = "They are ignored.",
		.todo = "Check that the recording is from a hostlat of the same version and was "
			"not changed. If it is a live run, please report it.",
	} },
	{ "limit", "watch, conns, compare, fleet", {
		.what = "hostlat keeps a bounded number of rows, connections and distributions, "
			"and there were more.",
		.effect = "The rest is not in the result; what is shown is right.",
		.todo = "Use fewer groups (--by), a --filter, or " LESS_TRAFFIC ".",
	} },
	{ "overhead", "watch, conns", {
		.what = "hostlat stopped measuring, since it exceeded its limit of CPU time even "
			"with the thinnest sampling.",
		.effect = "The result ends there.",
		.todo = "Raise --max-overhead (conns: --cpu-budget), or " LESS_TRAFFIC ".",
	} },
	{ "incomplete", "watch, conns", {
		.what = "Some intervals are incomplete: events were lost or not measured, or "
			"their overhead is unknown.",
		.effect = "The totals lack a part of these intervals.",
		.todo = "Look at the reasons of single intervals with --json-lines.",
	} },
	{ "too-few-intervals", "compare", {
		.what = "A recording has too few intervals for a significance test; 10 are needed.",
		.effect = "Differences are shown, but may be chance.",
		.todo = "Record longer, or with a shorter --interval.",
	} },
	{ "forgotten", "conns", {
		.what = "Closed connections were dropped to limit memory.",
		.effect = "They are missing from the totals.",
		.todo = "Measure for a shorter time, or with a --filter.",
	} },
	{ "clocks-differ", "conns", {
		.what = "--peer: connections began more than 100 ms apart at their two ends, by "
			"the hosts' clocks.",
		.effect = "The common time is uncertain.",
		.todo = "Synchronize the clocks of both hosts (chrony, ntpd, ptp4l) before "
			"recording.",
	} },
	{ "clock-set", "conns, fleet", {
		.what = "A host's clock was set during its recording.",
		.effect = "conns --peer: the common time is known only to within the size of that "
			  "step. fleet: records of that time are left out.",
		.todo = "Record again once both clocks are synchronized.",
	} },
	{ "store-unreachable", "fleet", {
		.what = "Servers of the store did not answer.",
		.effect = "Connections of the hosts whose rows they have are missing.",
		.todo = "Report again once they are there: nothing is lost.",
	} },
	{ "store-incomplete", "fleet", {
		.what = "The store has fewer connections of a window than were put into it.",
		.effect = "The report lacks them.",
		.todo = "Report again once all servers of the store are there; or ingest the "
			"recordings of the host that the evidence names again.",
	} },
	{ "recordings-overlap", "fleet", {
		.what = "The store has two recordings of a host of the same time, or two hosts "
			"have the same name.",
		.effect = "Of that time, only the recording that started first counts.",
		.todo = "Run one hostlat conns per host, and give each host its own name.",
	} },
	{ "other-steps", "fleet", {
		.what = "The store has windows with intervals of another length than --step.",
		.effect = "They are left out.",
		.todo = "Report on them with their --step, or ingest them again with this one.",
	} },
	{ "files-failed", "fleet", {
		.what = "Some recordings could not be put into the store.",
		.effect = "The others are there.",
		.todo = "See the messages, and ingest these again.",
	} },
	{ "other-recording", "conns", {
		.what = "--peer: the other recording is incomplete.",
		.effect = "Connections and times may be missing at that end.",
		.todo = "See hostlat conns --from with that file, which names the reasons.",
	} },
	{ "not-permitted", "doctor", {
		.what = "Some capabilities or facts of the host could not be determined.",
		.effect = "They are unknown: they may be there or not.",
		.todo = "Run hostlat doctor as root (sudo).",
	} },
	{ "nothing-in-common", "compare", {
		.what = "There is nothing that both recordings measured.",
		.effect = "There is no comparison.",
		.todo = "Give two recordings of the same command and with the same --with.",
	} },
	{ "load-unlike", "compare", {
		.what = "The runs had different rates, or one measured latency from the intended "
			"send, the other one from the actual send: an open and a closed loop.",
		.effect = "With different rates a difference may be that of the rates. Latencies "
			  "of different loops are not compared.",
		.todo = "Make the runs with the same --rate, --loop and --method.",
	} },
	{ "load-not-sound", "explain", {
		.what = "The load was not as requested, or its latency is not valid; the text "
			"names the reasons of the load.",
		.effect = "The percentiles are as seen. What slow messages waited for holds.",
		.todo = "Do what hostlat help says for those reasons.",
	} },
	{ "connections-not-measured", "explain", {
		.what = "hostlat conns could not run beside the load.",
		.effect = "What limits the connections is unknown; the rest of the answer holds.",
		.todo = "Run as root; hostlat doctor lists what conns needs.",
	} },
	{ "limits-left-out", "explain", {
		.what = "There were more intervals in which connections waited for a thread than "
			"hostlat keeps.",
		.effect = "The threads' activity covers only the first of them.",
		.todo = "Use a shorter run (--for), or fewer --connections.",
	} },
	{ "recording-damaged", "diagnose, explain", {
		.what = "The recording is damaged or incomplete.",
		.effect = "Only messages of the readable part are explained.",
		.todo = "Record again, with room on the disk and a larger --size-limit.",
	} },
	{ "memory-limit", "diagnose, explain", {
		.what = "Events beyond the memory limit were dropped.",
		.effect = "Their time counts as not recorded (blind).",
		.todo = "Record for a shorter time, or less traffic (--port, --pid).",
	} },
	{ "contexts-limit", "diagnose, explain", {
		.what = "There were more than 4,096 tasks and interrupts.",
		.effect = "The CPU time of the others is in no table.",
		.todo = "Record for a shorter time.",
	} },
	{ "too-many-messages", "diagnose, explain", {
		.what = "The recording has more messages than hostlat keeps (8 Mi), or more are "
			"selected than it explains (100,000).",
		.effect = "The others are left out; of selected ones, the slowest are explained.",
		.todo = "Select fewer (--slowest, --slice), record for a shorter time, or with "
			"--port.",
	} },
	{ "too-many-connections", "diagnose, explain", {
		.what = "The recording has more than 1 Mi connections.",
		.effect = "Messages of the others have no addresses.",
		.todo = "Record for a shorter time, or with --port.",
	} },
	{ "contradiction", "diagnose, explain", {
		.what = "By their times, some messages were read before they arrived, or left "
			"before their send call began.",
		.effect = "They are ignored.",
		.todo = "A few come from a clock that was set, or lost events. If there are many, "
			"please report it with the recording.",
	} },
	{ "no-activity", "diagnose, explain", {
		.what = "The recording has messages, but no activity of the CPUs.",
		.effect = "Nothing can be charged to a task or an interrupt.",
		.todo = "Record with --with messages,activity (the default has both).",
	} },
	{ "unknown-machine", "diagnose, explain", {
		.what = "hostlat does not know the system calls of the machine that made the "
			"recording.",
		.effect = "System calls have numbers instead of names.",
		.todo = "Diagnose with a newer hostlat, or on that machine.",
	} },
	{ "no-messages", "diagnose, explain", {
		.what = "The recording has no messages of this direction.",
		.effect = "There is nothing to explain.",
		.todo = "Record with --with messages,activity while traffic flows, and check "
			"--port and --pid; for sent messages use --direction egress.",
	} },
	{ "few-references", "diagnose, explain", {
		.what = "An application has fewer than 10 reference messages to compare with.",
		.effect = "Its messages are not explained.",
		.todo = "Record longer, or choose a wider baseline: --against 25:75, or another "
			"recording.",
	} },
	{ "low-coverage", "diagnose, explain", {
		.what = "Less than 80 % of the excess is explained at the median.",
		.effect = "The causes are right, but a large part of the time has none.",
		.todo = "See hostlat help blind and unexplained. Record fewer events at once, "
			"longer, or with --activity funcgraph.",
	} },
	{ "unlike-reference", "diagnose, explain", {
		.what = "The slow messages are of another kind than the reference messages: some "
			"parts took longer, and others less, by 30 % of the longer parts' extra "
			"time or more.",
		.effect = "Shares are shares of the longer parts' extra time, which is more than "
			  "the slow messages' excess.",
		.todo = "Compare with messages of the same kind: --against a nearer slice, such as "
			"80:90, or the same slice of another recording.",
	} },
	{ "functions-limit", "diagnose, explain", {
		.what = "There are more functions than the memory limit allows.",
		.effect = "Functions are compared for some of the messages only.",
		.todo = "Trace fewer functions (--funcgraph-filter, a smaller "
			"--funcgraph-depth), or select fewer messages.",
	} },
	{ "functions-not-compared", "diagnose, explain", {
		.what = "The baseline's recording has no kernel functions.",
		.effect = "It is unknown which functions took longer.",
		.todo = "Record the baseline with --activity funcgraph, too.",
	} },
	{ "too-few-messages", "compare", {
		.what = "A recording has too few messages to test for a difference (80 are "
			"needed).",
		.effect = "Differences are shown, but may be chance.",
		.todo = "Record longer, or at a higher rate.",
	} },
	{ "slice-too-small", "compare", {
		.what = "The slice of slow messages has fewer than 10 independent messages.",
		.effect = "Causes are not compared.",
		.todo = "Record longer, or take a larger slice: --slice 99:100.",
	} },
	{ "dependent", "compare", {
		.what = "The latencies are correlated for so long that no difference can be "
			"tested.",
		.effect = "Differences are shown, but may be chance.",
		.todo = "Record longer.",
	} },
	{ NULL, NULL, {} },
};
