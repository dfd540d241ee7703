/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/tracefs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/readfile.h"

#define TEXT_MAX (1U << 20)
#define PREFIX "hostlat-"
#define SHARED "-shared"
#define TRACER "function_graph"
#define FILTER "set_ftrace_filter"
#define DEPTH "max_graph_depth"
#define BUFFER "buffer_size_kb"

struct tracefs_saved {
	const char *name;
	bool shared;	/* a setting of the kernel, not of the instance */
	char *text;
};

#define SAVED_MAX 8
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define LOCK_TRIES 100
#define LOCK_PAUSE_MS 20

static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

struct tracefs {
	int root;	/* descriptor of tracefs; -1: not found */
	int place;	/* descriptor of the tracer's folder: the instance, or the root */
	int instances;	/* folder of all instances, locked while hostlat's is made; else -1 */
	int lock;	/* descriptor of hostlat's instance, locked until the end; -1: none */
	char instance[64];
	bool made;
	struct tracefs_saved saved[SAVED_MAX];	/* former settings, in the order of their changes */
	int n_saved;
	char *why;
	size_t why_size;
};

static int __attribute__((format(printf, 3, 4))) tracefs_refuse(struct tracefs *t, int err,
								const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t->why, t->why_size, format, args);
	va_end(args);
	return err;
}

/* ---- files ---- */

static char *tracefs_text_at(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC), err;
	struct strbuf text = STRBUF_INIT(TEXT_MAX);

	if (fd < 0)
		return NULL;
	err = readfile_fd(fd, &text);
	close(fd);
	if (err == -E2BIG)
		err = text.error = 0; /* the beginning of a longer text suffices */
	if (!err)
		return strbuf_detach(&text);
	strbuf_release(&text);
	return NULL;
}

/* Writes to a file. `how`: O_TRUNC replaces the contents of a list, O_APPEND adds to them. */
static int tracefs_write_at(int dir, const char *path, const char *text, int how)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | how);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (*text && write(fd, text, strlen(text)) < 0)
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Cuts a list down to its chosen word: the one in brackets, or the first. */
static void tracefs_cut_chosen(char *text)
{
	char *open = strchr(text, '['), *at = open ? open + 1 : text;
	size_t len = strcspn(at, open ? "]" : " \n");

	memmove(text, at, len);
	text[len] = '\0';
}

/*
 * Cuts "7 (expanded: 1408)" down to the second number, the size of a buffer that is not in use yet.
 */
static void tracefs_cut_buffer_size(char *text)
{
	char *expanded = strstr(text, "expanded: ");

	if (expanded)
		memmove(text, expanded + 10, strlen(expanded + 10) + 1);
	text[strspn(text, "0123456789")] = '\0';
}

static bool tracefs_save(struct tracefs *t, bool shared, const char *name)
{
	struct tracefs_saved *s = &t->saved[t->n_saved];

	BUG_ON(t->n_saved == SAVED_MAX);
	*s = (struct tracefs_saved){ name, shared,
				     tracefs_text_at(shared ? t->root : t->place, name) };
	if (!s->text)
		return false;
	if (!strcmp(name, BUFFER))
		tracefs_cut_buffer_size(s->text);
	else if (strcmp(name, FILTER))
		tracefs_cut_chosen(s->text);
	t->n_saved++;
	return true;
}

static void tracefs_restore(struct tracefs *t)
{
	while (t->n_saved) {
		const struct tracefs_saved *s = &t->saved[--t->n_saved];

		/* The former filter is empty: tracefs_share() refuses a tracer with a filter. */
		if (!strcmp(s->name, FILTER))
			tracefs_write_at(t->place, s->name, "", O_TRUNC);
		else
			tracefs_write_at(s->shared ? t->root : t->place, s->name, s->text, 0);
		free(s->text);
	}
}

/* ---- other instances of hostlat ---- */

/*
 * Returns a descriptor of tracefs' folder "instances", locked, or -errno. Each hostlat process
 * locks (flock) its own instance's folder: the lock ends with the process and thus shows, in every
 * PID namespace, whether the process lives. The lock of "instances" protects an instance that is
 * made and not locked yet.
 */
static int tracefs_lock_instances(int root)
{
	int fd = openat(root, "instances", OPEN_FOLDER);

	for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return fd;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -errno : -EBUSY;
}

static bool tracefs_is_alive(int instances, const char *name)
{
	int fd = openat(instances, name, OPEN_FOLDER);
	bool alive = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return alive;
}

static void tracefs_switch_off_shared(int root)
{
	tracefs_write_at(root, "current_tracer", "nop", 0);
	tracefs_write_at(root, FILTER, "", O_TRUNC);
	tracefs_write_at(root, "trace_clock", "local", 0);
	tracefs_write_at(root, "tracing_on", "1", 0);
}

/*
 * Removes instances of dead processes. Returns the pid (in its own namespace) of a living process,
 * or 0.
 */
static long tracefs_remove_dead(int root, int instances)
{
	int fd = openat(instances, ".", OPEN_FOLDER);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	long living = 0;
	bool left = false, shared = false;

	while (dir && (entry = readdir(dir))) {
		const char *digits = entry->d_name + strlen(PREFIX);
		char *end;
		long pid;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) || !isdigit(*digits))
			continue;
		pid = strtol(digits, &end, 10);
		if (tracefs_is_alive(instances, entry->d_name)) {
			living = pid;
		} else if (!unlinkat(instances, entry->d_name, AT_REMOVEDIR)) {
			left = true;
			shared |= !strcmp(end, SHARED);
		}
	}
	if (dir)
		closedir(dir);
	if (left && !living)
		tracefs_write_at(root, DEPTH, "0", 0);
	if (shared && !living)
		tracefs_switch_off_shared(root);
	return living;
}

void tracefs_clean(const char *path)
{
	int root = path ? open(path, OPEN_FOLDER) : -1, instances;

	for (size_t i = 0; !path && i < ARRAY_LEN(roots) && root < 0; i++)
		root = open(roots[i], OPEN_FOLDER);
	instances = root >= 0 ? tracefs_lock_instances(root) : -1;
	if (instances >= 0) {
		tracefs_remove_dead(root, instances);
		close(instances);
	}
	if (root >= 0)
		close(root);
}

/* ---- setting up ---- */

static int tracefs_find_root(struct tracefs *t)
{
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		t->root = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (t->root >= 0 && !faccessat(t->root, "current_tracer", F_OK, 0))
			return 0;
		if (t->root >= 0 && faccessat(t->root, ".", X_OK, 0))
			return tracefs_refuse(t, -EACCES,
					      "cannot trace functions: no access to %s%s", roots[i],
					      geteuid() ? " (run hostlat as root)" : "");
		if (t->root >= 0)
			close(t->root);
		t->root = -1;
	}
	return tracefs_refuse(t, -ENOENT,
			      "cannot trace functions: tracefs is not mounted (mount -t "
			      "tracefs nodev /sys/kernel/tracing), this kernel has no tracers, or "
			      "kernel lockdown (confidentiality) hides the tracers");
}

static bool tracefs_has_word(const char *text, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || isspace(at[-1])) && (!at[len] || isspace(at[len])))
			return true;
	return false;
}

static int tracefs_check_kernel(struct tracefs *t)
{
	char *tracers = tracefs_text_at(t->root, "available_tracers");
	bool has = tracers && tracefs_has_word(tracers, TRACER);

	free(tracers);
	return has ? 0
		   : tracefs_refuse(t, -EOPNOTSUPP,
				    "cannot trace functions: this kernel has no " TRACER
				    " tracer (CONFIG_FUNCTION_GRAPH_TRACER)");
}

static bool tracefs_in_use(const struct tracefs *t, const char *name, const char *unused)
{
	char *text = tracefs_text_at(t->root, name);
	bool used = text && *text && strncmp(text, unused, strlen(unused));

	free(text);
	return used;
}

/* Refuses a tracer in use: depth and buffer size are settings for all its users. */
static int tracefs_check_users(struct tracefs *t)
{
	const long living = tracefs_remove_dead(t->root, t->instances);
	char *tracer;
	bool used;

	if (living)
		return tracefs_refuse(t, -EBUSY,
				      "cannot trace functions: another hostlat process (pid %ld) "
				      "already traces functions",
				      living);
	tracer = tracefs_text_at(t->root, "current_tracer");
	used = !tracer || tracefs_has_word(tracer, TRACER);
	free(tracer);
	if (used)
		return tracefs_refuse(t, -EBUSY,
				      "cannot trace functions: another program uses the " TRACER
				      " tracer (current_tracer in tracefs)");
	if (tracefs_in_use(t, "set_graph_function", "#") ||
	    tracefs_in_use(t, "set_graph_notrace", "#"))
		return tracefs_refuse(t, -EBUSY,
				      "cannot trace functions: another program has set a filter "
				      "(set_graph_function or set_graph_notrace in tracefs)");
	return 0;
}

static int tracefs_lock_own(struct tracefs *t)
{
	t->lock = openat(t->root, t->instance, OPEN_FOLDER);
	return t->lock < 0 || flock(t->lock, LOCK_EX | LOCK_NB) ? -errno : 0;
}

/* Refuses to share a tracer in use: hostlat would take others' events, and use their filters. */
static int tracefs_share(struct tracefs *t)
{
	static const char *const names[] = {
		"current_tracer", "set_event", FILTER, "set_ftrace_notrace",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (tracefs_in_use(t, names[i], i ? "#" : "nop"))
			return tracefs_refuse(t, -EBUSY,
					      "cannot trace functions: this kernel allows one "
					      "user of " TRACER
					      ", and another program traces (%s in "
					      "tracefs)",
					      names[i]);
	close(t->lock);
	t->lock = -1;
	unlinkat(t->root, t->instance, AT_REMOVEDIR);
	t->made = false;
	snprintf(t->instance, sizeof(t->instance), "instances/" PREFIX "%d" SHARED,
		 (int)getpid());
	t->made = !mkdirat(t->root, t->instance, 0700);
	return t->made ? tracefs_lock_own(t) : -errno;
}

static int tracefs_make_instance(struct tracefs *t)
{
	int err;

	snprintf(t->instance, sizeof(t->instance), "instances/" PREFIX "%d", (int)getpid());
	if (mkdirat(t->root, t->instance, 0700))
		return tracefs_refuse(t, -errno,
				      "cannot trace functions: cannot create an instance in "
				      "tracefs: %s",
				      strerror(errno));
	t->made = true;
	err = tracefs_lock_own(t);
	if (err)
		return err;
	t->place = openat(t->root, t->instance, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->place < 0)
		return -errno;
	err = tracefs_write_at(t->place, "tracing_on", "0", 0);
	if (err)
		return err;
	if (!tracefs_write_at(t->place, "current_tracer", TRACER, 0))
		return tracefs_write_at(t->place, "current_tracer", "nop", 0);
	close(t->place);
	t->place = t->root;
	return tracefs_share(t);
}

static int tracefs_set(struct tracefs *t, bool shared, const char *name, const char *value)
{
	int err = tracefs_save(t, shared, name) ? 0 : -EIO;

	if (!err)
		err = tracefs_write_at(shared ? t->root : t->place, name, value, 0);
	return err ? tracefs_refuse(t, err,
				    "cannot trace functions: cannot set %s in tracefs to %s: %s",
				    name, value, strerror(-err))
		   : 0;
}

/* Sets the filter. A pattern may match nothing, as modules may be absent; a name must exist. */
static int tracefs_set_functions(struct tracefs *t, const char *functions)
{
	char *list = strdup(functions), *rest = NULL, line[256];
	int err = !list ? -ENOMEM : tracefs_save(t, false, FILTER) ? 0 : -EIO, found = 0;

	for (char *one = list ? strtok_r(list, ", ", &rest) : NULL; one && !err;
	     one = strtok_r(NULL, ", ", &rest)) {
		/*
		 * Without a newline the kernel applies the text at close(), where an error is lost.
		 */
		snprintf(line, sizeof(line), "%s\n", one);
		err = tracefs_write_at(t->place, FILTER, line, O_APPEND);
		found += !err;
		if (err == -EINVAL && strchr(one, '*'))
			err = 0;
		else if (err)
			tracefs_refuse(t, err,
				       "cannot trace functions: this kernel has no traceable "
				       "function named %s",
				       one);
	}
	free(list);
	if (!err && !found)
		err = tracefs_refuse(t, -EINVAL,
				     "cannot trace functions: this kernel has no function "
				     "named %s",
				     functions);
	return err == -EINVAL ? -ENOENT : err;
}

static int tracefs_configure(struct tracefs *t, const struct tracefs_config *c)
{
	char depth[24], buffer[24];
	int err;

	snprintf(depth, sizeof(depth), "%llu", (unsigned long long)c->depth);
	snprintf(buffer, sizeof(buffer), "%llu", (unsigned long long)c->buffer >> 10);
	err = tracefs_set(t, false, "tracing_on", "0");
	if (!err)
		err = tracefs_set(t, false, "trace_clock", "mono");
	if (!err)
		err = tracefs_set(t, false, BUFFER, buffer);
	if (!err)
		err = tracefs_set(t, true, DEPTH, depth);
	if (!err)
		err = tracefs_set_functions(t, c->functions);
	return err;
}

int tracefs_open(struct tracefs **out, const struct tracefs_config *config, char *why, size_t size)
{
	struct tracefs *t = calloc(1, sizeof(*t));
	int err;

	*out = NULL;
	why[0] = '\0';
	if (!t)
		return -ENOMEM;
	t->root = t->place = t->instances = t->lock = -1;
	t->why = why;
	t->why_size = size;
	err = tracefs_find_root(t);
	if (!err)
		err = tracefs_check_kernel(t);
	if (!err) {
		t->instances = tracefs_lock_instances(t->root);
		err = t->instances < 0 ? t->instances : 0;
	}
	if (!err)
		err = tracefs_check_users(t);
	if (!err)
		err = tracefs_make_instance(t);
	if (t->instances >= 0)
		close(t->instances);
	t->instances = -1;
	if (!err)
		err = tracefs_configure(t, config);
	if (err) {
		if (!why[0])
			snprintf(why, size, "cannot trace functions: %s", strerror(-err));
		tracefs_free(t);
		return err;
	}
	t->why = NULL; /* the caller's buffer, which need not exist after this call */
	*out = t;
	return 0;
}

bool tracefs_shared(const struct tracefs *t)
{
	return t->place == t->root;
}

int tracefs_start(struct tracefs *t)
{
	int err = tracefs_save(t, false, "current_tracer") ? 0 : -EIO;

	if (!err)
		err = tracefs_write_at(t->place, "current_tracer", TRACER, 0);
	return err ? err : tracefs_write_at(t->place, "tracing_on", "1", 0);
}

void tracefs_stop(struct tracefs *t)
{
	tracefs_write_at(t->place, "tracing_on", "0", 0);
}

int tracefs_pages(const struct tracefs *t, uint32_t cpu)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	fd = openat(t->place, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

char *tracefs_statistics(const struct tracefs *t, uint32_t cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
	return tracefs_text_at(t->place, path);
}

size_t tracefs_page_size(const struct tracefs *t)
{
	char *kb = tracefs_text_at(t->place, "buffer_subbuf_size_kb");
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (kb && strtoul(kb, NULL, 10) && strtoul(kb, NULL, 10) < 65536)
		size = strtoul(kb, NULL, 10) << 10;
	free(kb);
	return size;
}

char *tracefs_text(const struct tracefs *t, const char *path)
{
	return tracefs_text_at(t->root, path);
}

void tracefs_free(struct tracefs *t)
{
	if (!t)
		return;
	tracefs_restore(t);
	if (t->place >= 0 && t->place != t->root)
		close(t->place);
	if (t->made)
		unlinkat(t->root, t->instance, AT_REMOVEDIR);
	if (t->lock >= 0)
		close(t->lock);
	if (t->root >= 0)
		close(t->root);
	free(t);
}
