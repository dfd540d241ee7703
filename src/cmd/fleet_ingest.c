/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat fleet ingest: puts recordings into a store, a row for each connection and window. Windows
 * that the store has already are not put again, so that a recording that still grows may be
 * ingested every few minutes, and any recording twice.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/parse.h"
#include "cmd/fleet_config.h"
#include "cmd/fleet_ingest_report.h"
#include "cmd/fleet_read.h"
#include "cmd/fleet_store.h"
#include "report/human.h"
#include "store/series.h"

/* Windows that one pass over a recording fills: a day of hours, or of 5 minutes. */
#define WINDOWS_AT_ONCE_MIN 24u
#define WINDOWS_AT_ONCE_MAX 288u
#define INTERVALS_AT_ONCE 43200u
#define WINDOWS_MAX 1000000u
#define RENAMES_BITS 10 /* the lowest bits of a version: struct store_window */
#define ADDRESSES_BYTES_MAX 65536u
#define SERIES_BYTES_MAX (SERIES_INTERVAL_BYTES * FLEET_INTERVALS_MAX)
#define SERIES_INTERVAL_BYTES 4u /* "250 " */
#define INGEST_TEXTS 6u /* texts of a connection, which the recording lends */

/* A connection of the recording. Owns its texts. */
struct ingest_conn {
	uint32_t index;
	char *texts[INGEST_TEXTS];
	struct store_connection row;
};

struct ingest {
	const struct fleet_config *c;
	struct fleet_inputs *in;
	struct store *store;
	struct ingest_file *file;
	struct ingest_conns VEC_OF(struct ingest_conn) conns;
	/* windows of this recording that the store has, as it is now */
	struct ingest_windows VEC_OF(uint64_t) there;
	struct ingest_windows renamed; /* those that it has with other names of applications */
	uint64_t window_ns;           /* --window */
	uint64_t bytes, version;      /* the recording's; struct store_window */
	uint64_t first_ns;            /* begin of its first window */
	uint64_t other_length_ns, other_step_ns; /* other windows that the store has; 0: none */
	bool stop;                    /* the store failed, so that further files would as well */
	char *addresses;
	uint8_t *cells;
	struct strbuf series[FLEET_CLASSES];
};

/* Returns when the run of the recording started, which identifies it on its host. */
static uint64_t ingest_recording_ns(const struct fleet_recording *r)
{
	return r->run.started_ns ? r->run.started_ns : r->from_ns;
}

/* ---- connections ---- */

static void ingest_forget_conn(struct ingest_conn *conn)
{
	for (unsigned int i = 0; i < INGEST_TEXTS; i++)
		free(conn->texts[i]);
}

static void ingest_forget_conns(struct ingest *g)
{
	vec_for_each(&g->conns, conn)
		ingest_forget_conn(conn);
	vec_clear(&g->conns);
}

/* Returns the address as text, or NULL if the flow has none. */
static const char *ingest_address(const struct event_flow *flow, const uint8_t *bytes,
				  char out[INET6_ADDRSTRLEN])
{
	if (!flow->id || (flow->family != AF_INET && flow->family != AF_INET6))
		return NULL;
	return inet_ntop(flow->family, bytes, out, INET6_ADDRSTRLEN);
}

/* Fills in the row of a connection, but for its shares, from its own texts. */
static void ingest_fill(const struct ingest *g, const struct fleet_identity *identity,
			struct ingest_conn *conn)
{
	const struct fleet_recording *recording = &g->in->scan.recordings.items[0];

	conn->row = (struct store_connection){
		.host = recording->run.host, .recording_ns = ingest_recording_ns(recording),
		.netns = identity->netns, .cookie = identity->cookie, .version = g->version,
		.local = conn->texts[0], .remote = conn->texts[1],
		.local_port = identity->flow.local_port, .remote_port = identity->flow.remote_port,
		.accepted = identity->accepted, .application = conn->texts[2],
		.unit = conn->texts[3], .cgroup = conn->texts[4], .command = conn->texts[5],
	};
}

/* A fleet_note_fn: stores the connection's names, which are gone when the recording is closed. */
static int ingest_note(void *ctx, const struct fleet_identity *identity, uint32_t index)
{
	struct ingest *g = ctx;
	struct ingest_conn conn = { .index = index };
	char local[INET6_ADDRSTRLEN] = "", remote[INET6_ADDRSTRLEN] = "";
	const char *const texts[INGEST_TEXTS] = {
		ingest_address(&identity->flow, identity->flow.local, local),
		ingest_address(&identity->flow, identity->flow.remote, remote),
		fleet_resources_application(g->in->apps, identity), identity->unit,
		identity->cgroup, identity->command,
	};
	int err = 0;

	for (unsigned int i = 0; i < INGEST_TEXTS; i++) {
		conn.texts[i] = strdup(texts[i] ? texts[i] : "");
		err = conn.texts[i] ? err : -ENOMEM;
	}
	ingest_fill(g, identity, &conn);
	err = err ? err : vec_push(&g->conns, conn);
	if (err)
		ingest_forget_conn(&conn);
	return err;
}

/* ---- rows ---- */

/* Sets the connection's shares in a window. Returns whether anything is known of it. */
static bool ingest_set_shares(struct ingest *g, const struct fleet *f, uint32_t n,
			      struct ingest_conn *conn)
{
	bool any = false;

	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		struct store_shares *shares = fleet_store_shares(&conn->row, class);
		struct fleet_stretch totals;

		*shares = (struct store_shares){ .series = "" };
		if (!fleet_totals(f, conn->index, class, &totals))
			continue;
		any = true;
		shares->known_ns = totals.known_ns;
		shares->limited_ns = totals.limited_ns;
		shares->lost_ns = totals.lost_ns;
		fleet_cells(f, conn->index, class, 0, n, g->cells);
		strbuf_reset(&g->series[class]);
		series_write(&g->series[class], g->cells, n);
		shares->series = strbuf_str(&g->series[class]);
	}
	return any;
}

/* Puts the rows of one window, and the window's own. */
static int ingest_window(struct ingest *g, const struct fleet *f, uint64_t window_ns, uint32_t n)
{
	const struct fleet_recording *r = &g->in->scan.recordings.items[0];
	const uint64_t end = window_ns + g->window_ns;
	const uint64_t from = r->from_ns > window_ns ? r->from_ns : window_ns;
	const uint64_t to = r->to_ns < end ? r->to_ns : end;
	uint64_t rows = 0;
	int err = 0;

	vec_for_each(&g->conns, conn) {
		conn->row.window_ns = window_ns;
		if (err || !ingest_set_shares(g, f, n, conn))
			continue;
		err = store_put(g->store, &store_connections, &conn->row);
		g->file->bytes += store_row_bytes(&store_connections, &conn->row);
		rows++;
	}
	err = err ? err : store_put(g->store, &store_windows, &(struct store_window){
		.host = r->run.host, .recording_ns = ingest_recording_ns(r), .window_ns = window_ns,
		.version = g->version, .length_ns = g->window_ns, .step_ns = g->c->step_ns,
		.from_ns = from, .to_ns = to,
		.boot_ns = r->boot_ns, .pid = r->pid, .connections = rows,
		.kernel = r->run.kernel, .product = r->product,
		.clock = fleet_synchronized_name(r->synchronized),
		.clock_error_ns = r->max_error_ns, .time_error_ns = r->error_ns,
		.read_to_ns = r->to_ns, .ended = r->ended, .own = r->own, .records = r->records,
		.untimed = r->untimed, .invalid = r->refused, .lost = r->lost,
		.apps_hash = g->in->apps_hash, .damage = r->damaged,
		.file = g->file->path, .addresses = g->addresses });
	g->file->rows += rows;
	g->file->time_ns += to - from;
	g->file->damaged |= *r->damaged;
	g->file->stored++;
	return err;
}

/* ---- windows ---- */

/*
 * Returns whether a window that was stored from less of the recording stays as it is. A connection
 * that was idle at the window's end is known to have been so from its next record on, or from the
 * end of the run. Records that come more than a window later are not waited for: without this,
 * each ingest would store all of a recording again.
 */
static bool ingest_is_settled(const struct fleet_recording *r, const struct store_window *window)
{
	return window->read_to_ns >= window->window_ns + 2 * window->length_ns &&
	       !r->ended == !window->ended;
}

/*
 * Returns whether a window that the store has is to be stored with the names of this --apps. It
 * gets the next version then, as the recording is the same.
 */
static bool ingest_is_renamed(struct ingest *g, const struct store_window *window)
{
	const bool other = window->apps_hash != g->in->apps_hash;

	g->file->keeps_names |= other && !g->in->apps_hash;
	if (!other || !g->in->apps_hash || window->version >> RENAMES_BITS > g->bytes)
		return false;
	if (window->version >= g->version)
		g->version = window->version + 1;
	return true;
}

/* Removes the window if it is the last one: a later version of it decides. */
static void ingest_withdraw(struct ingest_windows *windows, uint64_t window_ns)
{
	if (windows->len && *vec_last(windows) == window_ns)
		windows->len--;
}

/* A store_row_fn: notes a window of this recording that is in the store. */
static int ingest_there(void *ctx, const void *row)
{
	const struct store_window *window = row;
	struct ingest *g = ctx;
	const struct fleet_recording *r = &g->in->scan.recordings.items[0];

	if (window->to_ns <= g->first_ns)
		return 0;
	if (window->length_ns != g->window_ns || window->step_ns != g->c->step_ns) {
		g->other_length_ns = window->length_ns;
		g->other_step_ns = window->step_ns;
		return -EEXIST;
	}
	if (window->recording_ns != ingest_recording_ns(r))
		return 0;
	ingest_withdraw(&g->there, window->window_ns);
	ingest_withdraw(&g->renamed, window->window_ns);
	if (ingest_is_renamed(g, window))
		return vec_push(&g->renamed, window->window_ns);
	if (window->version >> RENAMES_BITS < g->bytes && !ingest_is_settled(r, window))
		return 0;
	return vec_push(&g->there, window->window_ns);
}

static int ingest_find_there(struct ingest *g)
{
	const struct fleet_recording *r = &g->in->scan.recordings.items[0];
	const uint64_t from_ns = g->first_ns > NS_PER_DAY ? g->first_ns - NS_PER_DAY : 0;
	const struct store_query query = { .table = &store_windows, .from_ns = from_ns,
					   .to_ns = r->to_ns, .first_host = r->run.host,
					   .last_host = r->run.host };
	int err;

	vec_clear(&g->there);
	vec_clear(&g->renamed);
	err = store_select(g->store, &query, ingest_there, g);
	g->file->renamed = g->renamed.len;
	return err;
}

static bool ingest_is_there(const struct ingest *g, uint64_t window_ns)
{
	for (size_t i = 0; i < g->there.len; i++)
		if (g->there.items[i] == window_ns)
			return true;
	return false;
}

/* Counts of a recording begin anew each time that it is read. */
static void ingest_clear_counts(struct fleet_recording *r)
{
	r->connections = r->own = r->records = r->untimed = r->refused = r->beyond = r->lost = 0;
}

/*
 * Stores the windows that the store lacks, in one commit: a server takes few large inserts much
 * faster than many small ones.
 */
static int ingest_store(struct ingest *g, const struct fleet_windows *windows, uint32_t each)
{
	const uint64_t before = g->file->stored;
	int err = 0;

	for (uint32_t i = 0; i < windows->n && !err; i++) {
		const uint64_t window_ns = windows->start_ns + i * windows->length_ns;

		if (!ingest_is_there(g, window_ns))
			err = ingest_window(g, windows->fleets[i], window_ns, each);
	}
	err = err ? err : store_commit(g->store);
	if (err)
		g->file->stored = before;
	return err;
}

/* Reads the windows of in->grid and puts those that the store lacks. Returns an exit code. */
static int ingest_read(struct ingest *g, uint32_t each)
{
	struct fleet_windows windows;
	int err = fleet_windows_init(&windows, &g->in->grid, each), code = EXIT_CANNOT;

	if (err)
		log_error("out of memory");
	else
		code = fleet_read(g->in, &windows, ingest_note, g);
	err = code == EXIT_OK ? ingest_store(g, &windows, each) : 0;
	if (err) {
		log_error("%s", store_why(g->store));
		code = EXIT_CANNOT;
		g->stop = true;
	}
	fleet_windows_release(&windows);
	return code;
}

/* Returns how many windows of `each` intervals a pass fills: short ones take little memory. */
static uint64_t ingest_at_once(uint32_t each)
{
	const uint32_t n = INTERVALS_AT_ONCE / each;

	return n < WINDOWS_AT_ONCE_MIN ? WINDOWS_AT_ONCE_MIN :
	       n > WINDOWS_AT_ONCE_MAX ? WINDOWS_AT_ONCE_MAX : n;
}

/* Reads the recording for a few windows at a time, unless the store has all of these. */
static int ingest_windows(struct ingest *g)
{
	struct fleet_recording *r = &g->in->scan.recordings.items[0];
	const uint32_t each = (uint32_t)(g->window_ns / g->c->step_ns);
	const uint64_t n = r->to_ns <= g->first_ns ? 0 :
			   (r->to_ns - g->first_ns + g->window_ns - 1) / g->window_ns;
	const uint64_t at_once = ingest_at_once(each);
	int code = EXIT_OK;

	g->file->windows = n;
	for (uint64_t at = 0, some; at < n && code == EXIT_OK; at += some) {
		bool lacks = false;

		some = n - at < at_once ? n - at : at_once;
		g->in->grid = (struct fleet_grid){
			.start_ns = g->first_ns + at * g->window_ns,
			.step_ns = g->c->step_ns, .intervals = (uint32_t)some * each };
		for (uint64_t i = 0; i < some; i++)
			lacks |= !ingest_is_there(g, g->first_ns + (at + i) * g->window_ns);
		ingest_forget_conns(g);
		ingest_clear_counts(r);
		if (lacks)
			code = ingest_read(g, each);
	}
	return code;
}

/* ---- one recording ---- */

/* Returns the time before which --keep deletes windows; 0: it deletes none. */
static uint64_t ingest_cutoff(const struct ingest *g)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!g->c->keep_ns || (uint64_t)now.tv_sec * NS_PER_S <= g->c->keep_ns)
		return 0;
	return (uint64_t)now.tv_sec * NS_PER_S - g->c->keep_ns;
}

/* Sets the host's addresses as text, as many as there is room for. */
static int ingest_set_addresses(struct ingest *g)
{
	struct strbuf text = STRBUF_INIT(ADDRESSES_BYTES_MAX);

	vec_for_each(&g->in->scan.addresses.entries, entry) {
		char address[INET6_ADDRSTRLEN];

		if (inet_ntop(entry->prefix.family, entry->prefix.bytes, address, sizeof(address)))
			strbuf_printf(&text, "%s%s", text.len ? " " : "", address);
	}
	free(g->addresses);
	g->addresses = strdup(strbuf_str(&text));
	strbuf_release(&text);
	return g->addresses ? 0 : -ENOMEM;
}

static void ingest_failed(const struct ingest *g, int err)
{
	struct strbuf options = STRBUF_INIT(256);

	if (err != -EEXIST) {
		log_error("%s", err == -ENOMEM ? "out of memory" : store_why(g->store));
		return;
	}
	strbuf_puts(&options, "--window ");
	format_duration(&options, g->other_length_ns);
	strbuf_puts(&options, " --step ");
	format_duration(&options, g->other_step_ns);
	log_error("the store has other windows of host %s: give %s as before, or another --store",
		  g->file->host, strbuf_str(&options));
	strbuf_release(&options);
}

static int ingest_scanned(struct ingest *g)
{
	const struct fleet_recording *r = &g->in->scan.recordings.items[0];
	const uint64_t cutoff = ingest_cutoff(g);
	int err;

	snprintf(g->file->host, sizeof(g->file->host), "%s", r->run.host);
	g->file->from_ns = r->from_ns;
	g->file->to_ns = r->to_ns;
	g->first_ns = r->from_ns - r->from_ns % g->window_ns;
	if (g->first_ns < cutoff)
		g->first_ns = cutoff - cutoff % g->window_ns;
	err = ingest_set_addresses(g);
	err = err ? err : ingest_find_there(g);
	if (!err)
		return ingest_windows(g);
	ingest_failed(g, err);
	g->stop = err != -EEXIST;
	return EXIT_CANNOT;
}

static int ingest_one(struct ingest *g, const char *path)
{
	struct stat st;
	int code;

	/* before it is read: what is appended meanwhile must not count as stored */
	g->bytes = stat(path, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
	g->version = g->bytes << RENAMES_BITS;
	code = fleet_scan_read(&g->in->scan, &path, 1);

	if (code == EXIT_OK)
		code = ingest_scanned(g);
	ingest_forget_conns(g);
	fleet_scan_release(&g->in->scan);
	g->in->scan = (struct fleet_scan){ 0 };
	return code;
}

/* Copies standard input to a file without a name. Returns its descriptor or -errno. */
static int ingest_copy_input(void)
{
	const char *folder = getenv("TMPDIR");
	const int fd = open(folder && *folder ? folder : "/tmp",
			    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char buf[65536];
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			break;
	if (!n)
		return fd;
	n = errno ? -errno : -EIO;
	close(fd);
	return (int)n;
}

static int ingest_input(struct ingest *g)
{
	char path[64];
	int fd = ingest_copy_input(), code;

	if (fd < 0) {
		log_error("cannot copy standard input to a temporary file: %s", strerror(-fd));
		return EXIT_CANNOT;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	code = ingest_one(g, path);
	close(fd);
	return code;
}

/* ---- all recordings ---- */

/*
 * Deletes windows that are older than --keep. Returns false after a warning: the next ingest will
 * do it.
 */
static bool ingest_forget_old(struct ingest *g)
{
	const uint64_t cutoff = ingest_cutoff(g), before_ns = cutoff - cutoff % g->window_ns;
	char text[HUMAN_MAX];

	if (!cutoff)
		return true;
	if (store_forget(g->store, before_ns)) {
		log_warning("old windows stay in the store: %s", store_why(g->store));
		return false;
	}
	log_info("windows that begin before %s are deleted (--keep)",
		 human_utc(text, before_ns, 0, true));
	return true;
}

static int ingest_all(struct ingest *g)
{
	const struct opt_files *paths = &g->c->files;
	struct ingest_file *files = calloc(paths->len + 1ul, sizeof(*files));
	uint32_t failed = 0;
	int code = EXIT_CANNOT;

	if (!files) {
		log_error("out of memory");
		return code;
	}
	for (uint32_t i = 0; i < paths->len; i++) {
		const char *path = paths->items[i];

		files[i] = (struct ingest_file){ .path = path, .code = EXIT_CANNOT };
		g->file = &files[i];
		if (!g->stop)
			files[i].code = !strcmp(path, "-") ? ingest_input(g) : ingest_one(g, path);
		failed += files[i].code != EXIT_OK;
	}
	if (failed && g->c->keep_ns)
		log_warning("--keep deletes nothing before all recordings are stored: ingest "
			    "without those that fail");
	else if (ingest_forget_old(g) && !paths->len)
		code = EXIT_OK;
	if (failed < paths->len)
		code = ingest_report(&g->c->common, files, paths->len);
	free(files);
	return code;
}

int fleet_run_ingest(const struct fleet_config *c, struct fleet_inputs *in)
{
	struct ingest g = { .c = c, .in = in, .window_ns = fleet_window_ns(c) };
	int code = EXIT_CANNOT;

	vec_init(&g.conns, FLEET_CONNECTIONS_MAX);
	vec_init(&g.there, WINDOWS_MAX);
	vec_init(&g.renamed, WINDOWS_MAX);
	for (unsigned int i = 0; i < FLEET_CLASSES; i++)
		strbuf_init(&g.series[i], SERIES_BYTES_MAX);
	g.cells = malloc(FLEET_INTERVALS_MAX);
	g.store = fleet_store_open(c, STORE_WRITE);
	if (!g.cells)
		log_error("out of memory");
	else if (g.store)
		code = ingest_all(&g);
	for (unsigned int i = 0; i < FLEET_CLASSES; i++)
		strbuf_release(&g.series[i]);
	free(g.cells);
	free(g.addresses);
	vec_release(&g.conns);
	vec_release(&g.there);
	vec_release(&g.renamed);
	store_close(g.store);
	return code;
}
