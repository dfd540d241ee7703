/* SPDX-License-Identifier: Apache-2.0 */
/* The option rows of the load and its analysis. */
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/load_options.h"
#include "load/methods.h"
#include "load/schedule.h"
#include "load/scheduling.h"

static const struct opt_choice loop_choices[] = {
	{ "open", LOOP_OPEN, "send each request when it is due, whether or not replies have come" },
	{ "closed", LOOP_CLOSED, "send the next request after a reply; does not measure the "
				 "latency at a given request rate" },
	{ NULL, 0, NULL },
};

static const struct opt_choice stamps_choices[] = {
	{ "user", STAMPS_USER, "clock reads of hostlat itself" },
	{ "kernel", STAMPS_KERNEL, "also the kernel's time stamps, which split a latency into "
				   "client queue, transmit, wire and server, and receive" },
	{ "nic", STAMPS_NIC, "like kernel, plus the network card's time stamps at the wire; "
			     "refused if the card cannot stamp packets" },
	{ NULL, 0, NULL },
};

static const struct opt_choice priority_choices[] = {
	{ "realtime", PRIORITY_REALTIME, "SCHED_RR, before other programs on their CPUs, while "
		"they leave 10 % to them; high or normal if this user may not or no CPU is left "
		"for others" },
	{ "high", PRIORITY_HIGH, "nice -20, before programs of hostlat's own session" },
	{ "normal", PRIORITY_NORMAL, "as hostlat was started" },
	{ NULL, 0, NULL },
};

static const struct opt_choice addresses_choices[] = {
	{ "first", false, "the first that works, in the order of the resolver (RFC 6724)" },
	{ "all", true, "all in turn; a connection whose address fails uses the next" },
	{ NULL, 0, NULL },
};

static const struct opt_choice method_choices[] = {
#define METHOD_CHOICE(id, name, help, row) { name, id + 1, help },
	METHOD_ROWS(METHOD_CHOICE)
	{ NULL, 0, NULL },
};

const struct opt load_hosts_option_rows[] = {
	OPT_LIST(struct load_hosts_options, loading, .name = "agents",
		 .group = OPT_TARGET, .metavar = "HOST,...",
		 .help = "Hosts that generate the load in equal shares: a host for ssh, "
			 "netns:NAME, or local"),
	OPT_LIST(struct load_hosts_options, probing, .name = "latency-agents",
		 .group = OPT_TARGET, .rare = true,
		 .metavar = "HOST,...",
		 .help = "Hosts that only probe latency at a low rate; --agents then generate load "
			 "but do not count towards the latency"),
	OPT_STRING(struct load_hosts_options, command, .name = "agent-command",
		   .group = OPT_TARGET, .rare = true,
		   .metavar = "COMMAND",
		   .help = "Path of hostlat on the hosts reached by ssh (default hostlat)"),
	OPT_END,
};

const struct opt load_thread_option_rows[] = {
	OPT_U64(struct load_thread_options, count, .name = "threads",
		.group = OPT_LOAD, .rare = true, .letter = 't', .min = 1,
		.max = LOAD_THREADS_MAX,
		.help = "Number of threads (default: one per 100k requests per second, at most "
			"half of the CPUs)"),
	OPT_CHOICE(struct load_thread_options, priority, .name = "priority",
		   .group = OPT_LOAD, .rare = true,
		   .choices = priority_choices, .def = "realtime",
		   .help = "Scheduling priority of the threads"),
	OPT_FLAG(struct load_thread_options, pin, .name = "pin",
		 .group = OPT_LOAD, .rare = true,
		 .help = "Pin each thread to a CPU of its own"),
	OPT_END,
};

const struct opt load_option_rows[] = {
	OPT_LIST(struct load_options, urls, .name = "URL",
		 .group = OPT_TARGET, .positional = true,
		 .help = "Server to load: " LOAD_TARGET_TAKES "; several servers share the "
			 "connections in turn"),
	OPT_STRING(struct load_options, urls_file, .name = "urls",
		   .group = OPT_TARGET, .rare = true, .file = true,
		   .help = "File of URLs instead of URL, one per line with an optional weight"),
	OPT_RATE(struct load_options, rate, .name = "rate",
		 .group = OPT_LOAD, .letter = 'r',
		 .help = LOAD_RATE_HELP),
	OPT_RATE(struct load_options, rate_probed, .name = "rate-probed", .hidden = true,
		 .help = "Rate that one connection reached, of which --rate is the half"),
	OPT_STRING(struct load_options, arrival, .name = "arrival",
		   .group = OPT_LOAD, .metavar = "LAW",
		   .help = "Arrival process: " LOAD_ARRIVAL_DEFAULT " (default), fixed, uniform, "
			   "lognormal:CV, gamma:SHAPE, pareto:SHAPE, onoff:ON:OFF, ramp:FROM:TO, "
			   "sine:AMPLITUDE:PERIOD, or a file of times"),
	OPT_STRING(struct load_options, workload, .name = "workload",
		   .group = OPT_LOAD, .letter = 'w',
		   .metavar = "WORKLOAD",
		   .help = "Keys, values and mix of the requests: etc, usr, a file, or "
			   "KEY=VALUE,..."),
	OPT_CHOICE(struct load_options, loop, .name = "loop",
		   .group = OPT_LOAD, .rare = true, .choices = loop_choices,
		   .def = "open",
		   .help = "Trigger of a request: its due time (open) or the previous reply "
			   "(closed)"),
	OPT_CHOICE(struct load_options, stamps, .name = "timestamps",
		   .group = OPT_MEASURE, .rare = true, .choices = stamps_choices,
		   .def = "user", .help = "Source of the time stamps of requests and replies"),
	OPT_U64(struct load_options, connections, .name = "connections",
		.group = OPT_LOAD, .letter = 'c', .min = 1,
		.max = LOAD_CONNECTIONS_MAX,
		.help = "Number of connections (default: enough for the rate while the server "
			"pauses for 25ms, 32 to 400; for a latency of 5ms at high rates, to 1024)"),
	OPT_U64(struct load_options, outstanding, .name = "outstanding",
		.group = OPT_LOAD, .rare = true, .def = "1", .min = 1,
		.max = LOAD_OUTSTANDING_MAX,
		.help = "Largest number of requests in flight per connection"),
	OPTIONS_LOAD_THREADS(struct load_options, threads),
	OPT_CHOICE(struct load_options, addresses, .name = "addresses",
		   .group = OPT_TARGET, .rare = true,
		   .choices = addresses_choices, .def = "first",
		   .help = "Addresses of a host name that the connections use"),
	OPT_STRING(struct load_options, bind, .name = "bind",
		   .group = OPT_TARGET, .rare = true, .metavar = "ADDRESS,...",
		   .help = "Addresses of this host to connect from, in turn; each has its own "
			   "local ports"),
	OPT_U64(struct load_options, requests_per_connection, .name = "requests-per-connection",
		.group = OPT_LOAD, .rare = true,
		.min = 1, .help = "Reconnect after N requests"),
	OPTION_FOR(struct load_options, max_time_ns, .aliases = "max-time",
		   .min = LOAD_DURATION_MIN_NS, .max = LOAD_DURATION_MAX_NS,
		   .help = "Longest time of a run, or of all runs together with --find-max and "
			     "--against (default 60s)"),
	OPT_DURATION(struct load_options, timeout_ns, .name = "timeout",
		     .group = OPT_STOP, .def = "2s",
		     .min = NS_PER_MS, .max = NS_PER_DAY,
		     .help = "Fail a request that gets no reply within this time"),
	OPT_DURATION(struct load_options, drain_ns, .name = "drain",
		     .group = OPT_STOP, .rare = true, .min = NS_PER_MS,
		     .max = NS_PER_DAY,
		     .help = "Time to wait for the last replies (default: that of --timeout)"),
	OPT_U64(struct load_options, seed, .name = "seed",
		.group = OPT_LOAD, .rare = true, .min = 1,
		.help = "Seed of the schedule and the keys, to repeat a run exactly; each of many "
			"runs derives its own (default: random)"),
	OPT_FLAG(struct load_options, spin, .name = "spin",
		 .group = OPT_LOAD, .rare = true,
		 .help = "Poll without ever sleeping; needs --pin, and CPUs that nothing else "
			 "uses"),
	OPT_FLAG(struct load_options, preload, .name = "preload",
		 .group = OPT_LOAD,
		 .help = "Store every key before measuring, once before the first of many runs; "
			 "without it, only writes of the mix store keys"),
	OPTIONS_LOAD_REQUEST(struct load_options, to),
	OPT_LIST(struct load_options, commands, .name = "command",
		 .group = OPT_LOAD, .metavar = "[WEIGHT:]COMMAND",
		 .help = "Redis command that the requests are, such as 'HSET {key} field {value}'; "
			 "several are drawn by weight"),
	OPTIONS_LOAD_REPLAY(struct load_options, replay),
	OPT_PERCENT(struct load_options, percentile, .name = "percentile",
		    .group = OPT_MEASURE,
		    .help = "Percentile that the verdict and --ci-width apply to (default 99)"),
	OPT_DURATION(struct load_options, ci_width_ns, .name = "ci-width",
		     .group = OPT_STOP, .min = 1,
		     .help = "Stop once the percentile's confidence interval is this narrow, "
			     "checked after 1/8, 1/4, 1/2 and all of --for, from 30 s on"),
	OPT_PERCENT(struct load_options, confidence, .name = "confidence",
		    .group = OPT_MEASURE, .rare = true,
		    .help = "Confidence level of the intervals (default 95)"),
	OPT_FLAG(struct load_options, excise, .name = "excise",
		 .group = OPT_MEASURE, .rare = true,
		 .help = "Also give the percentile without the time around gaps, in which this "
			 "host stood still; --assert judges that one. Only if the server is on "
			 "another host or CPU"),
	OPT_FRACTION(struct load_options, max_errors, .name = "max-errors",
		     .group = OPT_MEASURE, .rare = true, .def = "0.1%",
		     .help = "Share of failed requests above which the result is n/a"),
	OPT_STRING(struct load_options, abort_on, .name = "abort-on",
		   .group = OPT_STOP, .metavar = "CONDITIONS",
		   .help = "End the run early if one of these shares is exceeded, such as "
			   "'errors>5%,timeouts>1%,unsent>50%'"),
	OPT_CHOICE(struct load_options, method, .name = "method",
		   .group = OPT_MEASURE, .rare = true, .choices = method_choices,
		   .help = "Method for the confidence intervals (default all)"),
	OPT_END,
};
