/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the windows of a store that a report is about: the latest version of each, of which the
 * recordings are put together again.
 */
#include "cmd/fleet_stored_find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/parse.h"
#include "cmd/fleet_store.h"
#include "cmd/fleet_time.h"
#include "report/human.h"

#define WINDOWS_MAX 20000000u
#define RECORDINGS_MAX 2000000u
#define COUNT_MAX (1ull << 40)
#define LAST_NS (3600 * NS_PER_S) /* without --since */

/* ---- rows ---- */

/* The texts of a window's row. */
#define WINDOW_TEXTS(row) \
	{ &(row)->host, &(row)->kernel, &(row)->product, &(row)->clock, &(row)->damage, \
	  &(row)->file, &(row)->addresses }

static void stored_release_window(struct stored_window *window)
{
	const char **const texts[] = WINDOW_TEXTS(&window->row);

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free((char *)*texts[i]);
}

/* Sets a copy of the row, with texts of its own. Returns 0 or -ENOMEM. */
static int stored_copy_window(const struct store_window *row, struct stored_window *out)
{
	const char **const texts[] = WINDOW_TEXTS(&out->row);
	bool short_of_memory = false;

	*out = (struct stored_window){ .row = *row };
	for (unsigned int i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		*texts[i] = strdup(*texts[i]);
		short_of_memory |= !*texts[i];
	}
	if (short_of_memory)
		stored_release_window(out);
	return short_of_memory ? -ENOMEM : 0;
}

static bool stored_counts_are_possible(const struct store_window *row)
{
	const uint64_t counts[] = { row->own, row->records, row->untimed, row->invalid, row->lost,
				    row->connections };
	bool possible = true;

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		possible &= counts[i] <= COUNT_MAX;
	return possible;
}

static bool stored_is_possible(const struct store_window *row)
{
	return stored_counts_are_possible(row) && *row->host && row->step_ns && row->length_ns &&
	       row->length_ns <= NS_PER_DAY && row->length_ns % row->step_ns == 0 &&
	       row->length_ns / row->step_ns <= FLEET_INTERVALS_MAX &&
	       row->window_ns <= INT64_MAX / 2 && row->from_ns < row->to_ns &&
	       row->from_ns >= row->window_ns && row->to_ns - row->window_ns <= row->length_ns;
}

static bool stored_is_version_of(const struct store_window *a, const struct store_window *b)
{
	return a->window_ns == b->window_ns && a->recording_ns == b->recording_ns &&
	       !strcmp(a->host, b->host);
}

/* ---- the time ---- */

struct stored_search {
	struct fleet_stored *s;
	const struct opt_list *except;
	uint64_t excepted;            /* mask of those that there are */
	uint64_t step_ns;
	uint64_t step_there_ns;       /* another one, which windows have; 0: none has */
	uint64_t since_ns, until_ns;
	uint64_t newest_ns;           /* end of the last window */
};

static bool stored_is_excepted(struct stored_search *search, const char *host)
{
	for (uint32_t i = 0; i < search->except->len; i++) {
		if (strcmp(search->except->items[i], host) != 0)
			continue;
		search->excepted |= 1ull << i;
		return true;
	}
	return false;
}

/* A store_row_fn: finds the end of the last window. */
static int stored_newest(void *ctx, const void *row)
{
	struct stored_search *search = ctx;
	const struct store_window *window = row;

	if (stored_is_possible(window) && window->to_ns > search->newest_ns &&
	    !stored_is_excepted(search, window->host))
		search->newest_ns = window->to_ns;
	return 0;
}

/*
 * Looks for the last window, further and further back: a store may hold months of many hosts. Hosts
 * whose clocks are more than a day ahead do not count while there are others.
 */
static int stored_find_newest(struct stored_search *search)
{
	static const uint64_t back[] = { 2 * LAST_NS, 2 * NS_PER_DAY, 60 * NS_PER_DAY, INT64_MAX };
	const uint64_t now_ns = fleet_time_now();
	int err = 0;

	for (unsigned int i = 0; i < 4 && !err && !search->newest_ns; i++) {
		const struct store_query query = {
			.table = &store_windows,
			.to_ns = i < 3 ? now_ns + NS_PER_DAY : INT64_MAX,
			.from_ns = back[i] < now_ns ? now_ns - back[i] : 0 };

		err = store_select(search->s->store, &query, stored_newest, search);
	}
	return err;
}

static int stored_time(const char *option, const char *text, uint64_t end_ns, uint64_t *out)
{
	if (!text || !fleet_time_parse(text, fleet_time_now(), end_ns, out))
		return EXIT_OK;
	log_error("--%s takes " FLEET_TIME_TAKES ", not '%s'", option, text);
	return EXIT_USAGE;
}

static int stored_set_time(const struct fleet_config *c, struct stored_search *search)
{
	char text[HUMAN_MAX];
	int code;

	search->until_ns = search->newest_ns;
	code = stored_time("until", c->until, search->newest_ns, &search->until_ns);
	search->since_ns = search->until_ns > LAST_NS ? search->until_ns - LAST_NS : 0;
	if (code == EXIT_OK)
		code = stored_time("since", c->since, search->until_ns, &search->since_ns);
	if (code == EXIT_OK && search->since_ns >= search->until_ns && !c->until) {
		log_error("%s has no windows after that time: its last one ends at %s (--since)",
			  c->store, human_utc(text, search->newest_ns, 0, true));
		return EXIT_CANNOT;
	}
	if (code == EXIT_OK && search->since_ns >= search->until_ns) {
		log_error("--since must be before --until");
		code = EXIT_USAGE;
	}
	search->s->since_ns = c->since ? search->since_ns : 0;
	search->s->until_ns = c->until ? search->until_ns : 0;
	return code;
}

/* ---- windows ---- */

/* A store_row_fn: keeps the latest version of each window in the time. */
static int stored_window(void *ctx, const void *row)
{
	struct stored_search *search = ctx;
	struct stored_windows *all = &search->s->windows;
	const struct store_window *window = row;
	struct stored_window copy;
	int err;

	if (!stored_is_possible(window)) {
		search->s->invalid++;
		return 0;
	}
	if (window->window_ns + window->length_ns <= search->since_ns ||
	    stored_is_excepted(search, window->host))
		return 0;
	if (window->step_ns != search->step_ns) {
		search->s->other_step++;
		search->step_there_ns = window->step_ns;
		return 0;
	}
	err = stored_copy_window(window, &copy);
	if (err)
		return err;
	if (all->len && stored_is_version_of(&vec_last(all)->row, window)) {
		stored_release_window(vec_last(all));
		*vec_last(all) = copy;
		return 0;
	}
	err = vec_push(all, copy);
	if (err)
		stored_release_window(&copy);
	return err;
}

static int stored_find_windows(struct stored_search *search)
{
	const struct store_query query = {
		.table = &store_windows, .to_ns = search->until_ns,
		.from_ns = search->since_ns > NS_PER_DAY ? search->since_ns - NS_PER_DAY : 0 };

	return store_select(search->s->store, &query, stored_window, search);
}

/* Windows of a host's recordings that started before that of the current window. */
struct stored_earlier {
	size_t first, end;            /* in s->windows */
	uint64_t to_ns;               /* end of the last one that counts */
};

/* Adds the recording before window i once i is of another one, or forgets those of another host. */
static void stored_earlier_advance(const struct fleet_stored *s, size_t i, struct stored_earlier *e)
{
	const struct stored_window *all = s->windows.items;

	if (!i || (!strcmp(all[i].row.host, all[i - 1].row.host) &&
		   all[i].row.recording_ns == all[i - 1].row.recording_ns))
		return;
	if (strcmp(all[i].row.host, all[i - 1].row.host) != 0) {
		*e = (struct stored_earlier){ .first = i, .end = i };
		return;
	}
	for (; e->end < i; e->end++)
		if (!all[e->end].left_out && all[e->end].row.to_ns > e->to_ns)
			e->to_ns = all[e->end].row.to_ns;
}

/* Returns whether a window overlaps. Most begin after all earlier ones: those are not looked at. */
static bool stored_overlaps(const struct fleet_stored *s, const struct store_window *row,
			    const struct stored_earlier *e)
{
	if (row->from_ns >= e->to_ns)
		return false;
	for (size_t k = e->first; k < e->end; k++) {
		const struct stored_window *other = &s->windows.items[k];

		if (!other->left_out && row->from_ns < other->row.to_ns &&
		    other->row.from_ns < row->to_ns)
			return true;
	}
	return false;
}

/*
 * Leaves out what overlaps with an earlier started recording of the host: each connection would
 * count twice, and two copies of one correlate perfectly.
 */
static void stored_leave_out(struct fleet_stored *s)
{
	struct stored_earlier earlier = { 0 };

	for (size_t i = 0; i < s->windows.len; i++) {
		struct stored_window *window = &s->windows.items[i];

		stored_earlier_advance(s, i, &earlier);
		window->left_out = stored_overlaps(s, &window->row, &earlier);
		s->overlapping += window->left_out;
	}
}

/* ---- recordings ---- */

/* Makes a recording of its first window. */
static void stored_make_recording(const struct store_window *row, struct fleet_recording *out)
{
	*out = (struct fleet_recording){
		.path = row->file, .product = "", .pid = row->pid, .from_ns = row->from_ns,
		.to_ns = row->to_ns, .boot_ns = row->boot_ns, .error_ns = row->time_error_ns,
		.max_error_ns = row->clock_error_ns,
		.synchronized = fleet_synchronized_find(row->clock),
		.run.started_ns = row->recording_ns,
	};
	snprintf(out->product, sizeof(out->product), "%s", row->product);
	snprintf(out->run.host, sizeof(out->run.host), "%s", row->host);
	snprintf(out->run.kernel, sizeof(out->run.kernel), "%s", row->kernel);
}

/* Sets the counts, which are those of the whole recording when the window was stored. */
static void stored_set_counts(const struct store_window *row, struct fleet_recording *out)
{
	out->ended = row->ended;
	out->own = row->own;
	out->records = row->records;
	out->untimed = row->untimed;
	out->refused = row->invalid;
	out->lost = row->lost;
	snprintf(out->damaged, sizeof(out->damaged), "%s", row->damage);
}

/* Adds a window's time to the recording, and its counts if they are later than those before. */
static void stored_join_recording(const struct store_window *row, uint64_t *version,
				  struct fleet_recording *out)
{
	out->from_ns = row->from_ns < out->from_ns ? row->from_ns : out->from_ns;
	out->to_ns = row->to_ns > out->to_ns ? row->to_ns : out->to_ns;
	out->error_ns = row->time_error_ns > out->error_ns ? row->time_error_ns : out->error_ns;
	if (row->version < *version)
		return;
	*version = row->version;
	stored_set_counts(row, out);
}

/* Adds the addresses of a text; what is no address is ignored. */
static int stored_add_addresses(const char *text, uint32_t host, struct fleet_addresses *out)
{
	int err = 0;

	while (*text && !err) {
		const size_t len = strcspn(text, " ");
		struct fleet_address address;
		uint32_t other;
		char one[64];

		snprintf(one, sizeof(one), "%.*s", (int)(len < sizeof(one) ? len : 0), text);
		if (!addresses_parse(one, &address))
			err = addresses_add(out, &address, host, true, &other);
		err = err == -ENOMEM ? err : 0;
		text += len + (text[len] == ' ');
	}
	return err;
}

static int stored_add_window(struct fleet_scan *scan, struct stored_window *window,
			     uint64_t *version)
{
	const struct store_window *row = &window->row;
	const bool first = !scan->recordings.len;
	struct fleet_recording *last = first ? NULL : vec_last(&scan->recordings);
	int err = 0;

	if (first || strcmp(last->run.host, row->host) != 0)
		err = vec_push(&scan->hosts, row->host);
	if (!err && (first || last->run.started_ns != row->recording_ns ||
		     strcmp(last->run.host, row->host) != 0)) {
		struct fleet_recording made;

		stored_make_recording(row, &made);
		made.host = (uint32_t)scan->hosts.len - 1;
		*version = 0;
		err = vec_push(&scan->recordings, made);
	}
	if (err)
		return err;
	stored_join_recording(row, version, vec_last(&scan->recordings));
	window->recording = (uint32_t)scan->recordings.len - 1;
	return stored_add_addresses(row->addresses, vec_last(&scan->recordings)->host,
				    &scan->addresses);
}

static int stored_make_scan(struct fleet_stored *s, struct fleet_scan *scan)
{
	uint64_t version = 0;         /* latest of the recording */
	int err = 0;

	*scan = (struct fleet_scan){ 0 };
	vec_init(&scan->recordings, RECORDINGS_MAX);
	vec_init(&scan->hosts, RECORDINGS_MAX);
	addresses_init(&scan->addresses);
	vec_for_each(&s->windows, window)
		if (!err && !window->left_out)
			err = stored_add_window(scan, window, &version);
	return err;
}

/* ---- all ---- */

static int stored_failed(const struct fleet_stored *s, int err)
{
	if (err == -E2BIG)
		log_error("more windows than hostlat reads: give --since and --until");
	else
		log_error("%s", err == -ENOMEM ? "out of memory" : store_why(s->store));
	return EXIT_CANNOT;
}

static int stored_nothing(const struct fleet_config *c, const struct stored_search *search)
{
	char text[HUMAN_MAX];

	if (search->s->invalid && !search->s->other_step)
		log_error("%s has no windows with possible values: something has changed its "
			  "rows", c->store);
	else if (!search->newest_ns)
		log_error("%s has no windows: hostlat fleet ingest --store %s FILE puts "
			  "recordings into it", c->store, c->store);
	else if (search->s->other_step)
		log_error("%s has only windows in other steps at that time, such as --step %s",
			  c->store, human_ns(text, search->step_there_ns));
	else
		log_error("%s has no windows at that time: its last one ends at %s (--since and "
			  "--until)", c->store, human_utc(text, search->newest_ns, 0, true));
	return EXIT_CANNOT;
}

/* Refuses names that are no host's: the host that was meant would stay in the report. */
static int stored_check_except(const struct stored_search *search)
{
	for (uint32_t i = 0; i < search->except->len; i++) {
		if (search->excepted >> i & 1)
			continue;
		log_error("--except: the store has no host '%s' at that time (hostlat fleet report "
			  "--json lists its hosts)", search->except->items[i]);
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

int fleet_stored_find(const struct fleet_config *c, struct fleet_inputs *in,
		      struct fleet_stored *s)
{
	struct stored_search search = { .s = s, .except = &c->except, .step_ns = c->step_ns };
	int code, err;

	*s = (struct fleet_stored){ 0 };
	vec_init(&s->windows, WINDOWS_MAX);
	s->store = fleet_store_open(c, STORE_READ);
	if (!s->store)
		return EXIT_CANNOT;
	err = stored_find_newest(&search);
	if (err)
		return stored_failed(s, err);
	if (!search.newest_ns)
		return stored_nothing(c, &search);
	code = stored_set_time(c, &search);
	err = code == EXIT_OK ? stored_find_windows(&search) : 0;
	if (err)
		return stored_failed(s, err);
	if (code == EXIT_OK)
		code = stored_check_except(&search);
	if (code == EXIT_OK && !s->windows.len)
		code = stored_nothing(c, &search);
	if (code != EXIT_OK)
		return code;
	stored_leave_out(s);
	err = stored_make_scan(s, &in->scan);
	if (err)
		return stored_failed(s, err);
	return fleet_scan_grid(&in->scan, c->step_ns, 0, &in->grid) ? EXIT_OK : EXIT_USAGE;
}

/* Adds a sentence if a time that was given is not the one from or to which there are records. */
static void stored_put_moved(const char *option, const char *verb, uint64_t given_ns,
			     uint64_t there_ns, struct strbuf *out)
{
	char given[HUMAN_MAX], there[HUMAN_MAX];

	strbuf_printf(out, "%s--%s %s is within a window, and windows count as a whole: this %s at "
		      "%s.", out->len ? " " : "", option, human_utc(given, given_ns, 0, true),
		      verb, human_utc(there, there_ns, 0, true));
}

void fleet_stored_moved(const struct fleet_stored *s, struct strbuf *out)
{
	uint64_t from_ns = INT64_MAX, to_ns = 0;

	vec_for_each(&s->windows, window) {
		if (window->left_out)
			continue;
		from_ns = window->row.from_ns < from_ns ? window->row.from_ns : from_ns;
		to_ns = window->row.to_ns > to_ns ? window->row.to_ns : to_ns;
	}
	if (s->since_ns && from_ns + NS_PER_S <= s->since_ns)
		stored_put_moved("since", "begins", s->since_ns, from_ns, out);
	if (s->until_ns && to_ns >= s->until_ns + NS_PER_S)
		stored_put_moved("until", "ends", s->until_ns, to_ns, out);
}

void fleet_stored_release(struct fleet_stored *s)
{
	vec_for_each(&s->windows, window)
		stored_release_window(window);
	vec_release(&s->windows);
	free(s->unreachable);
	store_close(s->store);
	*s = (struct fleet_stored){ 0 };
}
