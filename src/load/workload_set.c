/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the settings of a workload, and defines the named workloads. */
#include "load/workload_set.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "base/nearest.h"
#include "base/parse.h"

struct workload_setting_row {
	const char *name;
	const char *takes; /* valid values, for error messages; NULL: set() writes the message */
	int (*set)(struct workload *w, const char *value, struct strbuf *why);
};

static const struct workload defaults = {
	.keys = 10000,
	.popularity = { .kind = DIST_KIND_UNIFORM },
	.key_size = { .kind = DIST_KIND_FIXED, .a = 30 },
	.value_size = { .kind = DIST_KIND_FIXED, .a = 200 },
	.share = { [OPERATION_GET] = 1 },
	.request_size = { .kind = DIST_KIND_FIXED, .a = 64 },
	.reply_size = { .kind = DIST_KIND_FIXED, .a = 64 },
};

/*
 * Atikoglu et al., "Workload analysis of a large-scale key-value store", SIGMETRICS 2012. ETC is
 * the general pool (30 reads per write); USR stores user states (99.8 % reads; keys of two sizes,
 * whose shares the paper does not give). The paper gives no distribution of popularity, so the
 * default remains.
 */
static const struct {
	const char *name;
	struct dist key, value;
	double reads;
} named[] = {
	{ "etc",
	  { .kind = DIST_KIND_GEV, .a = 30.7984, .b = 8.20449, .c = 0.078688 },
	  { .kind = DIST_KIND_ETC },
	  30.0 / 31 },
	{ "usr",
	  { .kind = DIST_KIND_BIMODAL, .a = 0.5, .b = 16, .c = 21 },
	  { .kind = DIST_KIND_FIXED, .a = 2 },
	  0.998 },
};

static int workload_set_base(struct workload *w, const char *value, struct strbuf *why)
{
	(void)why;
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (strcmp(value, named[i].name) != 0)
			continue;
		w->key_size = named[i].key;
		w->value_size = named[i].value;
		w->share[OPERATION_GET] = named[i].reads;
		return 0;
	}
	return -EINVAL;
}

static int workload_set_keys(struct workload *w, const char *value, struct strbuf *why)
{
	uint64_t keys;
	int err = parse_u64(value, &keys);

	(void)why;
	if (err || keys < 1 || keys > WORKLOAD_KEYS_MAX)
		return -EINVAL;
	w->keys = keys;
	return 0;
}

static int workload_set_popularity(struct workload *w, const char *value, struct strbuf *why)
{
	struct strbuf unused = STRBUF_INIT(0);
	struct dist d = { .kind = DIST_KIND_UNIFORM };
	int err = 0;

	(void)why;
	if (strcmp(value, "uniform") != 0)
		err = dist_parse(value, DIST_UNIT_PLAIN, &d, &unused);
	strbuf_release(&unused);
	if (err || (d.kind != DIST_KIND_UNIFORM && d.kind != DIST_KIND_ZIPF &&
		    d.kind != DIST_KIND_NORMAL) || (d.kind == DIST_KIND_UNIFORM && d.b != 0))
		return -EINVAL;
	w->popularity = d;
	return 0;
}

static int workload_set_key_size(struct workload *w, const char *value, struct strbuf *why)
{
	return dist_parse(value, DIST_UNIT_BYTES, &w->key_size, why);
}

static int workload_set_value_size(struct workload *w, const char *value, struct strbuf *why)
{
	return dist_parse(value, DIST_UNIT_BYTES, &w->value_size, why);
}

static int workload_set_service(struct workload *w, const char *value, struct strbuf *why)
{
	return dist_parse(value, DIST_UNIT_NS, &w->service, why);
}

static int workload_set_request_size(struct workload *w, const char *value, struct strbuf *why)
{
	return dist_parse(value, DIST_UNIT_BYTES, &w->request_size, why);
}

static int workload_set_reply_size(struct workload *w, const char *value, struct strbuf *why)
{
	return dist_parse(value, DIST_UNIT_BYTES, &w->reply_size, why);
}

static int workload_set_message(struct workload *w, const char *value, struct strbuf *why)
{
	return grpc_message_parse(value, &w->message, why);
}

static const struct workload_setting_row settings_known[] = {
	[WORKLOAD_BASE] = { "base", "etc or usr, before all other settings", workload_set_base },
	[WORKLOAD_KEYS] = { "keys", "1 to 1000000000", workload_set_keys },
	[WORKLOAD_POPULARITY] = { "popularity",
				  "uniform, zipf:EXPONENT (0 to 10) or normal:MEAN:DEVIATION",
				  workload_set_popularity },
	[WORKLOAD_KEY] = { "key", NULL, workload_set_key_size },
	[WORKLOAD_VALUE] = { "value", NULL, workload_set_value_size },
	[WORKLOAD_SERVICE] = { "service", NULL, workload_set_service },
	[WORKLOAD_REQUEST] = { "request", NULL, workload_set_request_size },
	[WORKLOAD_REPLY] = { "reply", NULL, workload_set_reply_size },
	[WORKLOAD_MESSAGE] = { "message", NULL, workload_set_message },
#define SHARE_ROW(operation, share, has_value)                                                     \
	[WORKLOAD_SHARE + (operation)] = { share, PARSE_FRACTION_TAKES, NULL },
	OPERATION_ROWS(SHARE_ROW)
};

_Static_assert(ARRAY_LEN(settings_known) == WORKLOAD_SETTINGS, "a row for each");

const char *workload_setting_name(enum workload_setting setting)
{
	return settings_known[setting].name;
}

static void workload_set_unknown(const char *name, const char *where, struct strbuf *why)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	strbuf_printf(why, "workload: %sunknown key '%s': use", where, name);
	for (size_t i = 0; i < ARRAY_LEN(settings_known); i++) {
		if (!settings_known[i].name)
			continue;
		strbuf_printf(why, "%s %s", i ? "," : "", settings_known[i].name);
		nearest_offer(&nearest, settings_known[i].name);
	}
	if (nearest.best)
		strbuf_printf(why, " (did you mean %s?)", nearest.best);
}

static const struct workload_setting_row *workload_set_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(settings_known); i++) {
		if (settings_known[i].name && strcmp(name, settings_known[i].name) == 0)
			return &settings_known[i];
	}
	return NULL;
}

static int workload_set_one(struct workload *w, const struct workload_setting_row *setting,
			    const char *value, struct strbuf *form)
{
	/* A base would overwrite the settings before it, so it must come first. */
	if (setting->set == workload_set_base && w->given)
		return -EINVAL;
	return setting->set ? setting->set(w, value, form) :
		parse_fraction(value, &w->share[setting - settings_known - WORKLOAD_SHARE]);
}

void workload_settings_init(struct workload_settings *settings, struct workload *workload)
{
	*workload = defaults;
	*settings = (struct workload_settings){ .workload = workload };
}

bool workload_is_named(const char *name)
{
	struct workload unused;

	return workload_set_base(&unused, name, NULL) == 0;
}

int workload_set(struct workload_settings *settings, const char *name, const char *value,
		 const char *where, struct strbuf *why)
{
	const struct workload_setting_row *setting = workload_set_find(name);
	struct strbuf form = STRBUF_INIT(4096);
	uint32_t bit;
	int err;

	if (!setting) {
		workload_set_unknown(name, where, why);
		return -EINVAL;
	}
	bit = 1U << (setting - settings_known);
	if (settings->workload->given & bit) {
		strbuf_printf(why, "workload: %s%s is given twice", where, name);
		return -EINVAL;
	}
	err = workload_set_one(settings->workload, setting, value, &form);
	settings->workload->given |= bit;
	if (err && setting->takes)
		strbuf_printf(why, "workload: %s%s takes %s, not '%s'", where, name,
			      setting->takes, value);
	else if (err)
		strbuf_printf(why, "workload: %s%s: %s", where, name, strbuf_str(&form));
	strbuf_release(&form);
	return err && setting->takes ? -EINVAL : err;
}
