/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary's reasons of `hostlat load`, and why a percentile lacks a bound. */
#include "cmd/glossary_rows.h"

#include "base/bug.h"
#include "load/analysis.h"

#define NA "The run is n/a: its percentiles are what was seen, not a sound measurement."

/* Codes of gates begin with the gate's own sentence (gate_sentence()), which is not repeated. */
const struct glossary_reason glossary_load_reasons[] = {
	{ "server-unreachable", "load", {
		.what = "The run ends after 3 s without an open connection.",
		.effect = NA " At the start, and if nothing was answered, the exit status is 2.",
		.todo = "Check that the server runs and listens at the URL's address and port, "
			"and that no firewall is between.",
	} },
	{ "rate-not-reached", "load", {
		.what = "Less than 99 % of the requests that were due were answered or failed.",
		.effect = NA " The load was less than asked, and requests waited ever longer.",
		.todo = "The server is slower than this rate, or the client: use a lower --rate, "
			"or find the highest one with --find-max. If this host is busy, add "
			"--threads or --agents.",
	} },
	{ "arrivals-violated", "load", {
		.what = "The times between requests differ from those of --arrival by more than "
			"5 %, and chance does not explain it.",
		.effect = NA " Bunched requests meet queues that the declared load does not make.",
		.todo = "The generator was late: give it a quiet CPU (--pin, --priority, another "
			"host), more --threads, or a lower --rate.",
	} },
	{ "closed-loop-behaviour", "load", {
		.what = "All connections were busy when requests became due.",
		.effect = NA " A slow server is spared the requests that it keeps from being sent.",
		.todo = "Use more --connections, a higher --outstanding, or a lower --rate.",
	} },
	{ "client-saturated", "load", {
		.what = "Its threads were busy, or so late that the rate was not reached, or lost "
			"samples.",
		.effect = NA " Latencies contain the generator's own queue.",
		.todo = "Use more --threads or CPUs, more hosts (--agents), or a lower --rate. "
			"TLS and small requests cost most.",
	} },
	{ "local-ports-exhausted", "load", {
		.what = "After this end has closed a connection, its port is in use for a minute.",
		.effect = NA " Requests without a connection wait or fail.",
		.todo = "Open fewer new connections per second, widen "
			"net.ipv4.ip_local_port_range, or use more addresses: of this host with "
			"--bind, of the server, or both.",
	} },
	{ "host-noisy", "load", {
		.what = "The threads did not run, or CPU time was stolen, for more than a fifth of "
			"the time, or the rate was not reached meanwhile. (Bounds allow for less "
			"than that.)",
		.effect = NA " Slow requests may be this host's doing, not the server's.",
		.todo = "Run as root, or with CAP_SYS_NICE, so that the threads run before other "
			"programs (--priority); use --pin, a quieter host, or --agents on other "
			"hosts. A virtual machine needs CPUs of its own.",
	} },
	{ "host-unknown", "load", {
		.what = "/proc/stat or /proc/self/schedstat cannot be read; the stolen time is "
			"null in noise.",
		.effect = NA " Slow requests may be this host's doing, not the server's.",
		.todo = "Mount /proc in the container, or use a kernel with CONFIG_SCHED_INFO.",
	} },
	{ "errors-above-limit", "load", {
		.what = "Requests failed by a timeout, a refused or closed connection, or a reply "
			"that says so; the text lists the causes.",
		.effect = NA " Failed requests have no latency, which flatters the percentiles.",
		.todo = "Mend the causes that the result names. If failures belong to the test, "
			"raise --max-errors, or name the expected replies with --expect.",
	} },
	{ "unexpected-status", "load", {
		.what = "At least 99 % of the HTTP replies were redirects, 404 or 410: the page "
			"was not measured.",
		.effect = NA,
		.todo = "Correct the URL, follow the redirect by hand, or say with --expect that "
			"this status is wanted.",
	} },
	{ "connections-unbalanced", "load", {
		.what = "The busiest connection had more than four times the mean.",
		.effect = NA " The percentiles are those of a few connections.",
		.todo = "Look for connections that the server leaves unserved: a stuck worker, or "
			"an uneven SO_REUSEPORT or load balancer. hostlat conns shows them.",
	} },
	{ "timestamps-missing", "load", {
		.what = "More than 1 % of the requests lack a stamp that --timestamps asks for.",
		.effect = NA,
		.todo = "The network card or driver does not stamp every packet: use --timestamps "
			"kernel instead of nic, or --timestamps user.",
	} },
	{ "agents-disagree", "load", {
		.what = "At the percentile, an agent differs from the others by more than 10 %, "
			"and chance does not explain it.",
		.effect = NA " A merged percentile would belong to none of them.",
		.todo = "Compare the agents: CPU, distance to the server, other work. Leave the "
			"odd one out, or measure with --latency-agents.",
	} },
	{ "not-converged", "load", {
		.what = "The latencies depend on each other for so long, or vary so much, that "
			"more of them are needed. --find-max: its time or its trial runs ended.",
		.effect = "The result is n/a, or as precise as could be had (--find-max).",
		.todo = "Use a longer run (--for), a wider --ci-width, or a lower --percentile.",
	} },
	{ "non-stationary-trend", "load", {
		.what = "A longer run would have another result: a cache warms up, a queue or "
			"memory fills, or a CPU heats up.",
		.effect = NA,
		.todo = "Load the server until it is warm before the run, use --preload, or a "
			"lower --rate if a queue grows. --plot shows the trend.",
	} },
	{ "non-stationary-shift", "load", {
		.what = "It was at one level and then at another, more than chance explains.",
		.effect = NA " The percentile is a mixture of two states.",
		.todo = "Find what happened then (--plot shows when): a deploy, a failover, a "
			"garbage collection, other jobs. Repeat the run, or use --repeat.",
	} },
	{ "non-stationary-periodic", "load", {
		.what = "A peak comes back at a fixed interval, which the text names.",
		.effect = NA,
		.todo = "Look for a timer, a cron job, a flush or a garbage collection with that "
			"period; hostlat explain names the command if it runs on the server's "
			"host. A run of at least 20 periods (--for) is accepted with it.",
	} },
	{ "too-few-exceedances", "load", {
		.what = "Requests that come close together count as less than one each.",
		.effect = "The percentile is as observed, without an interval.",
		.todo = "Use a longer run (--for), a higher --rate, or a lower --percentile.",
	} },
	{ "heavy-tail", "load", {
		.what = "The interval is wider than the percentile itself, and the fitted tail "
			"has no finite variance.",
		.effect = NA,
		.todo = "Look for the rare long stalls with hostlat explain, or ask for a lower "
			"--percentile.",
	} },
	{ "agent-lost", "load", {
		.what = "An agent ended before its time, or could not be reached any more.",
		.effect = "The result is partial: latencies cover the time in which all agents "
			  "were there.",
		.todo = "Look at the agent's host and its network; the text says what was lost.",
	} },
	{ "schedule-exhausted", "load", {
		.what = "The file of arrivals (--arrival) ended before the time was over.",
		.effect = "The result is partial: it covers the time until then.",
		.todo = "Use a longer file, or a run (--for) for which it lasts.",
	} },
	{ "interrupted", "load", {
		.what = "A signal (Ctrl-C, SIGTERM, SIGHUP) ended the run, or one of many runs.",
		.effect = "The result is partial or n/a: it covers the time until then.",
		.todo = "Let the run end by itself, or set a shorter run (--for).",
	} },
	{ "aborted", "load", {
		.what = "A condition of --abort-on ended the run. Of many runs the others are "
			"still made.",
		.effect = "The result covers the time until then, and is n/a or partial.",
		.todo = "Look at the share that the text names. Use a lower --rate, or a higher "
			"limit in --abort-on.",
	} },
	{ "assert-undecided", "load", {
		.what = "The limit of a condition lies between the bounds, the bound that could "
			"decide is missing, or the run is not sound at the condition's "
			"percentile.",
		.effect = "The exit status is 3: the condition neither holds nor fails.",
		.todo = "First do what the other reasons ask for; then use a longer run (--for), "
			"which narrows the interval. --assert-seen judges by what was seen, "
			"--repeat by several runs.",
		.more = "(A run may be stationary at the 90th percentile, say, and not at the "
			"99th.)",
	} },
	{ "samples-incomplete", "load", {
		.what = "The file of --samples could not be written whole; the text says why.",
		.effect = "The result itself is whole; the file is not.",
		.todo = "Make room on that file system, or take a --record and the samples from "
			"it later.",
	} },
	{ "histograms-incomplete", "load", {
		.what = "The file of --hdr could not be written whole; the text says why.",
		.effect = "The result itself is whole; the file is not.",
		.todo = "Make room on that file system, and run again or use --from.",
	} },
	{ "ccdf-incomplete", "load", {
		.what = "The file of --ccdf could not be written whole; the text says why.",
		.effect = "The result itself is whole; the file is not.",
		.todo = "Make room on that file system, and run again or use --from.",
	} },
	{ "addresses-missing", "load", {
		.what = "--samples kept the addresses of the first 1,048,576 connections only.",
		.effect = "The samples of later connections have no addresses.",
		.todo = "Use a shorter run, or a larger --requests-per-connection.",
	} },
	{ "runs-not-sound", "load", {
		.what = "Of many runs, some are not sound; the table says why in its last column.",
		.effect = "The answer is partial: it rests on the sound runs.",
		.todo = "Do what hostlat help says for the reasons in that column.",
	} },
	{ "too-few-runs", "load", {
		.what = "At least two sound runs are needed to tell how runs vary.",
		.effect = "The result is n/a.",
		.todo = "Do what the reasons in the table ask for, or use a larger --repeat.",
	} },
	{ "too-few-pairs", "load", {
		.what = "--against: too few slices of both servers had the load that was "
			"requested.",
		.effect = "The result is n/a.",
		.todo = "Use a longer run (--for) or a larger --repeat, and a --rate that both "
			"servers reach.",
	} },
	{ "run-failed", "load", {
		.what = "One of many runs could not be made; the text says why.",
		.effect = "Only the runs before it are shown.",
		.todo = "Mend the cause (most often the server went away) and start again.",
	} },
	{ "slices-left-out", "load", {
		.what = "--against: the load of some slices was not as requested.",
		.effect = "They are left out, by server. A server that fails under its load looks "
			  "better without them.",
		.todo = "Use a --rate that both servers reach.",
	} },
	{ "misses-differ", "load", {
		.what = "--against: one server's replies were misses more often, by more than 5 % "
			"of all or by more than half of the share beyond the percentile.",
		.effect = "A miss is different work from a hit, so latencies cannot be compared.",
		.todo = "Use --preload, or the same keys on both.",
	} },
	{ "above-range", "load", {
		.what = "--find-max: the condition holds even at the highest rate of the search.",
		.effect = "The highest rate is not known; it is above the range.",
		.todo = "Ask for a tighter condition, or load from more hosts with --agents.",
	} },
	{ "below-range", "load", {
		.what = "--find-max: the condition fails even at the lowest rate of the search.",
		.effect = "No rate keeps the condition.",
		.todo = "Ask for a looser condition; see what the latency is at a low --rate.",
	} },
	{ NULL, NULL, {} },
};

/* By enum load_why, without LOAD_WHY_NONE. */
const struct glossary_text glossary_whys[] = {
	[LOAD_WHY_NO_SAMPLES - 1] = {
		.what = "No request was answered.",
		.effect = "The percentile is n/a.",
		.todo = "Check the server and the URL; the failures of the result say what came "
			"instead of replies.",
	},
	[LOAD_WHY_FEW_REQUESTS - 1] = {
		.what = "Too few requests lie beyond the percentile.",
		.effect = "The percentile is as observed, without an interval.",
		.todo = "Run for longer (--for) or at a higher --rate: the text says about "
			"how many requests it takes. Or ask for a lower percentile.",
	},
	[LOAD_WHY_SHORT - 1] = {
		.what = "Neighboring latencies depend on each other for so long that the run has "
			"too few independent stretches.",
		.effect = "The percentile is as observed, without an interval.",
		.todo = "Use a longer run (--for); more requests in the same time do not help.",
	},
	[LOAD_WHY_FAILURES - 1] = {
		.what = "A bound may be a request without a latency: it failed, or its sample was "
			"lost.",
		.effect = "The percentile is as observed, without an interval.",
		.todo = "Mend what makes requests fail, or use a longer --timeout, so that slow "
			"requests have a latency.",
	},
	[LOAD_WHY_DISTURBED - 1] = {
		.what = "This host may have delayed all requests beyond the percentile.",
		.effect = "There is only an upper bound: the server is at most so slow. More "
			  "requests do not help.",
		.todo = "Use a quieter host, --pin, --priority, or --agents on other hosts. "
			"--excise leaves the time around gaps out.",
	},
	[LOAD_WHY_STOPPED - 1] = {
		.what = "This host stood still for more than a fifth of the time.",
		.effect = "The percentile is as observed, without an interval.",
		.todo = "Use another host, or a virtual machine with CPUs of its own; see hostlat "
			"help host-noisy.",
	},
	[LOAD_WHY_CENSORED - 1] = {
		.what = "More than 1 % of the replies have no time stamp of their own.",
		.effect = "The percentile of the kernel's stamps has no interval.",
		.todo = "Use --outstanding 1, or more --connections.",
	},
	[LOAD_WHY_UNSTABLE - 1] = {
		.what = "--excise: the percentile depends on how much time around gaps is left "
			"out.",
		.effect = "It has no interval: what is left out decides the number.",
		.todo = "Use a quieter host or --pin, so that there are fewer gaps.",
	},
	[LOAD_WHY_METHOD - 1] = {
		.what = "--method lancet has too few samples, or computes no bounds of this "
			"latency.",
		.effect = "The percentile is as observed, without an interval.",
		.todo = "Use --method all, or a longer run (--for).",
	},
};
_Static_assert(ARRAY_LEN(glossary_whys) == LOAD_WHY_METHOD, "a text for each enum load_why");
