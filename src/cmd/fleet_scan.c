/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/sort.h"
#include "cmd/cmd.h"
#include "cmd/fleet_time.h"
#include "cmd/recorded_file.h"
#include "event/clocks.h"
#include "report/human.h"

#define FACT_PRODUCT "host.product"
#define FACT_SYNCHRONIZED "clock.synchronized"
#define FACT_MAX_ERROR "clock.max_error_us"
#define MAX_ERROR_US_MOST 1000000000u
/* Two boots of a host, or two hosts, are further apart than a clock that is adjusted moves. */
#define SAME_BOOT_NS (60 * NS_PER_S)

/* A recording that is being scanned. */
struct fleet_scanning {
	struct fleet_scan *scan;
	struct fleet_recording *recording;
	struct event_clocks clocks;
	struct fleet_addresses local;       /* addresses of its connections' ends here */
	uint64_t from, to;            /* monotonic */
	bool any;
};

void fleet_scan_release(struct fleet_scan *scan)
{
	vec_release(&scan->recordings);
	vec_release(&scan->hosts);
	addresses_release(&scan->addresses);
}

/* ---- words ---- */

static const char *const synchronized_names[] = {
	[FLEET_SYNC_UNKNOWN] = "", [FLEET_SYNC_YES] = "synchronized",
	[FLEET_SYNC_NO] = "not synchronized",
};

const char *fleet_synchronized_name(enum fleet_synchronized synchronized)
{
	return synchronized_names[synchronized];
}

enum fleet_synchronized fleet_synchronized_find(const char *name)
{
	for (unsigned int i = 0; i < ARRAY_LEN(synchronized_names); i++)
		if (!strcmp(name, synchronized_names[i]))
			return (enum fleet_synchronized)i;
	return FLEET_SYNC_UNKNOWN;
}

/* ---- events ---- */

static void fleet_scan_fact(struct fleet_recording *r, const struct event *event)
{
	const char *key, *value;
	uint64_t us;

	event_fact_get(event, &key, &value);
	run_facts_feed(&r->run, key, value);
	if (!strcmp(key, FACT_RUN_PID) && parse_u64(value, &r->pid))
		r->pid = 0;
	else if (!strcmp(key, FACT_PRODUCT) && strncmp(value, "n/a", 3) != 0)
		snprintf(r->product, sizeof(r->product), "%s", value);
	else if (!strcmp(key, FACT_SYNCHRONIZED))
		r->synchronized = !strcmp(value, "yes") ? FLEET_SYNC_YES : FLEET_SYNC_NO;
	else if (!strcmp(key, FACT_MAX_ERROR) && !parse_u64(value, &us) && us <= MAX_ERROR_US_MOST)
		r->max_error_ns = us * NS_PER_US;
}

static void fleet_scan_interval(struct fleet_scanning *s, const struct event *event)
{
	struct event_interval e;

	event_copy(event, &e, sizeof(e));
	if (e.from_ns > e.to_ns)
		return;
	s->from = s->any && s->from < e.from_ns ? s->from : e.from_ns;
	s->to = s->any && s->to > e.to_ns ? s->to : e.to_ns;
	s->any = true;
	s->recording->ended |= e.flags & INTERVAL_LAST;
}

/* Notes this host's address, unless every host has it. */
static int fleet_scan_flow(struct fleet_scanning *s, const struct event *event)
{
	struct fleet_address address;
	struct event_flow flow;
	uint32_t other;
	int err;

	event_copy(event, &flow, sizeof(flow));
	if (flow.family != AF_INET && flow.family != AF_INET6)
		return 0;
	address = addresses_whole(flow.family, flow.local);
	if (addresses_is_local(&address))
		return 0;
	err = addresses_add(&s->local, &address, 0, false, &other);
	return err == -ENOMEM ? err : 0;
}

static int fleet_scan_event(void *ctx, const struct event *event)
{
	struct fleet_scanning *s = ctx;
	int err = event_clocks_add(&s->clocks, event);

	if (event->kind == EV_FACT)
		fleet_scan_fact(s->recording, event);
	else if (event->kind == EV_INTERVAL)
		fleet_scan_interval(s, event);
	else if (!err && event->kind == EV_FLOW)
		err = fleet_scan_flow(s, event);
	return err;
}

/* ---- one recording ---- */

/* Sets the realtime of begin and end. Returns false after a message if it is unknown. */
static bool fleet_scan_times(struct fleet_scanning *s)
{
	struct fleet_recording *r = s->recording;
	struct clock_time from, to;

	if (!s->any) {
		log_error("%s has no interval: record with hostlat conns --record", r->path);
		return false;
	}
	if (event_clocks_realtime(&s->clocks, s->from, &from) ||
	    event_clocks_realtime(&s->clocks, s->to, &to) || from.value < 0 ||
	    to.value <= from.value || (uint64_t)from.value < s->from) {
		log_error("cannot compare %s with other hosts: it lacks the host's realtime clock "
			  "at its begin or end, or the clock was set back", r->path);
		return false;
	}
	r->from_ns = (uint64_t)from.value;
	r->to_ns = (uint64_t)to.value;
	r->boot_ns = r->from_ns - s->from;
	r->error_ns = from.error_ns > to.error_ns ? from.error_ns : to.error_ns;
	return true;
}

/* Returns the host's number by its name, or ADDRESSES_NONE. */
static uint32_t fleet_scan_host(const struct fleet_scan *scan, const char *name)
{
	for (uint32_t i = 0; i < scan->hosts.len; i++)
		if (!strcmp(scan->hosts.items[i], name))
			return i;
	return ADDRESSES_NONE;
}

/* Sets the recording's host by its name. Returns 0 or -ENOMEM. */
static int fleet_scan_set_host(struct fleet_scanning *s)
{
	struct fleet_scan *scan = s->scan;
	struct fleet_recording *r = s->recording;
	int err = 0;

	r->host = fleet_scan_host(scan, r->run.host);
	if (r->host == ADDRESSES_NONE) {
		r->host = (uint32_t)scan->hosts.len;
		err = vec_push(&scan->hosts, r->run.host);
	}
	for (size_t i = 0; !err && i < s->local.entries.len; i++) {
		uint32_t other;

		err = addresses_add(&scan->addresses, &s->local.entries.items[i].prefix, r->host,
				    true, &other);
		err = err == -ENOMEM ? err : 0;
	}
	return err;
}

static int fleet_scan_file(struct fleet_scanning *s)
{
	struct fleet_recording *r = s->recording;
	struct event_reader *reader;
	int err;

	if (!recorded_file_is_of(r->path, EV_CONN))
		return EXIT_CANNOT;
	reader = recorded_file_open(r->path);
	if (!reader)
		return EXIT_CANNOT;
	err = recorded_file_events(reader, fleet_scan_event, s);
	event_reader_free(reader);
	if (err < 0) {
		recorded_file_failed(r->path, "read", err);
		return EXIT_CANNOT;
	}
	if (!*r->run.host) {
		log_error("%s does not say of which host it is: record with hostlat conns "
			  "--record", r->path);
		return EXIT_CANNOT;
	}
	if (!fleet_scan_times(s))
		return EXIT_CANNOT;
	err = fleet_scan_set_host(s);
	if (err)
		log_error("out of memory");
	return err ? EXIT_CANNOT : EXIT_OK;
}

static int fleet_scan_one(struct fleet_scan *scan, struct fleet_recording *recording)
{
	struct fleet_scanning s = { .scan = scan, .recording = recording };
	struct stat st;
	int code;

	if (!stat(recording->path, &st)) {
		recording->device = st.st_dev;
		recording->inode = st.st_ino;
	}
	event_clocks_init(&s.clocks, 1u << DOMAIN_REALTIME);
	addresses_init(&s.local);
	code = fleet_scan_file(&s);
	addresses_release(&s.local);
	event_clocks_release(&s.clocks);
	return code;
}

/* ---- doubles ---- */

static int fleet_scan_order_files(const void *x, const void *y)
{
	const struct fleet_recording *a = x, *b = y;

	return sort_order(a->device, b->device) ?: sort_order(a->inode, b->inode);
}

/* Refuses a file that is given twice: it would count twice. */
static bool fleet_scan_files_differ(struct fleet_scan *scan)
{
	struct fleet_recordings *r = &scan->recordings;

	qsort(r->items, r->len, sizeof(*r->items), fleet_scan_order_files);
	for (size_t i = 1; i < r->len; i++) {
		if (!r->items[i].inode || fleet_scan_order_files(&r->items[i - 1], &r->items[i]))
			continue;
		log_error("%s and %s are one file: give each once", r->items[i - 1].path,
			  r->items[i].path);
		return false;
	}
	return true;
}

static int fleet_scan_order(const void *x, const void *y)
{
	const struct fleet_recording *a = x, *b = y;

	return strcmp(a->run.host, b->run.host) ?: sort_order(a->from_ns, b->from_ns) ?:
	       sort_order(a->to_ns, b->to_ns) ?: strcmp(a->path, b->path);
}

bool fleet_scan_is_same_boot(const struct fleet_recording *a, const struct fleet_recording *b)
{
	const uint64_t apart = a->boot_ns > b->boot_ns ? a->boot_ns - b->boot_ns :
							 b->boot_ns - a->boot_ns;

	return a->host == b->host && apart < SAME_BOOT_NS;
}

/* Refuses recordings of one host that overlap: each connection would count twice. */
static bool fleet_scan_hosts_differ(const struct fleet_scan *scan)
{
	const struct fleet_recordings *r = &scan->recordings;

	for (size_t i = 1; i < r->len; i++) {
		const struct fleet_recording *a = &r->items[i - 1], *b = &r->items[i];

		if (strcmp(a->run.host, b->run.host) != 0 || b->from_ns >= a->to_ns)
			continue;
		if (a->run.started_ns == b->run.started_ns && a->pid == b->pid)
			log_error("%s and %s are copies of one recording: give one of them",
				  a->path, b->path);
		else if (fleet_scan_is_same_boot(a, b))
			log_error("%s and %s overlap in time and are both of host %s: each "
				  "connection would count twice; give one of them", a->path,
				  b->path, a->run.host);
		else
			log_error("%s and %s are of two hosts that are both named %s: give them "
				  "different names (hostnamectl) and record again", a->path,
				  b->path, a->run.host);
		return false;
	}
	return true;
}

/* Numbers the hosts again: sorting has moved the recordings, to which the names belong. */
static int fleet_scan_number(struct fleet_scan *scan)
{
	uint32_t *numbers = calloc(scan->hosts.len + 1, sizeof(*numbers)), n = 0;
	const size_t before = scan->hosts.len;

	if (!numbers)
		return -ENOMEM;
	vec_clear(&scan->hosts);
	vec_for_each(&scan->recordings, r) {
		if (!n || strcmp(scan->hosts.items[n - 1], r->run.host) != 0)
			scan->hosts.items[n++] = r->run.host;
		numbers[r->host] = n - 1;
		r->host = n - 1;
	}
	scan->hosts.len = n;
	BUG_ON(n != before);
	vec_for_each(&scan->addresses.entries, entry)
		if (entry->host != ADDRESSES_NONE)
			entry->host = numbers[entry->host];
	free(numbers);
	return 0;
}

/* ---- all recordings ---- */

int fleet_scan_read(struct fleet_scan *scan, const char *const *paths, uint32_t n)
{
	int code = EXIT_OK;

	*scan = (struct fleet_scan){ 0 };
	vec_init(&scan->recordings, FLEET_RECORDINGS_MAX);
	vec_init(&scan->hosts, FLEET_RECORDINGS_MAX);
	addresses_init(&scan->addresses);
	if (vec_reserve(&scan->recordings, n) || vec_reserve(&scan->hosts, n)) {
		log_error("out of memory");
		return EXIT_CANNOT;
	}
	for (uint32_t i = 0; i < n && code == EXIT_OK; i++) {
		struct fleet_recording *r = &scan->recordings.items[scan->recordings.len++];

		*r = (struct fleet_recording){ .path = paths[i] };
		code = fleet_scan_one(scan, r);
	}
	if (code != EXIT_OK)
		return code;
	if (!fleet_scan_files_differ(scan))
		return EXIT_USAGE;
	qsort(scan->recordings.items, scan->recordings.len, sizeof(*scan->recordings.items),
	      fleet_scan_order);
	if (!fleet_scan_hosts_differ(scan))
		return EXIT_CANNOT;
	if (!fleet_scan_number(scan))
		return EXIT_OK;
	log_error("out of memory");
	return EXIT_CANNOT;
}

/*
 * Returns the end of the newest data. The newest time is asked for while recordings grow: a host
 * whose clock is over a day ahead would hide all others.
 */
static uint64_t scan_newest(const struct fleet_scan *scan)
{
	const uint64_t limit = fleet_time_now() + NS_PER_DAY;
	uint64_t newest = 0, sane = 0;

	vec_for_each(&scan->recordings, r) {
		newest = r->to_ns > newest ? r->to_ns : newest;
		if (r->to_ns <= limit && r->to_ns > sane)
			sane = r->to_ns;
	}
	return sane ?: newest;
}

bool fleet_scan_grid(const struct fleet_scan *scan, uint64_t step_ns, uint64_t last_ns,
		     struct fleet_grid *grid)
{
	uint64_t from = UINT64_MAX, to = 0, intervals;
	char length[HUMAN_MAX];

	vec_for_each(&scan->recordings, r) {
		from = r->from_ns < from ? r->from_ns : from;
		to = r->to_ns > to ? r->to_ns : to;
	}
	if (last_ns)
		to = scan_newest(scan);
	if (last_ns && (to < from || to - from > last_ns))
		from = to > last_ns ? to - last_ns : 0;
	from -= from % step_ns;
	intervals = (to - from + step_ns - 1) / step_ns;
	*grid = (struct fleet_grid){ .start_ns = from, .step_ns = step_ns,
				     .intervals = (uint32_t)intervals };
	if (intervals <= FLEET_INTERVALS_MAX)
		return true;
	log_error("the recordings span %s, which is more than %u intervals of --step: give a "
		  "longer --step, or fewer recordings", human_ns(length, to - from),
		  FLEET_INTERVALS_MAX);
	return false;
}

uint64_t fleet_scan_error_ns(const struct fleet_recording *recording)
{
	if (recording->synchronized == FLEET_SYNC_NO)
		return UINT64_MAX;
	return recording->error_ns + recording->max_error_ns;
}
