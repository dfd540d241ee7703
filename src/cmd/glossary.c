/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/glossary.h"

#include <ctype.h>
#include <string.h>

#include "base/opt_text.h"
#include "conns/bottleneck.h"
#include "conns/problem.h"
#include "conns/words.h"
#include "diagnose/cause.h"
#include "event/names.h"
#include "fleet/sentence.h"
#include "load/analysis.h"
#include "load/gates.h"

#define LABEL_WIDTH 10

/* The entry of all percentiles. */
#define PERCENTILE_WORD "p99"
/* The entry of the columns "over 25 %" and so on. */
#define OVER_WORD "over"

/* ---- words that are in no table of an analysis ---- */

static const struct glossary_reason words[] = {
	{ "sound", "load", {
		.what = "Every check of the run that applies was made and passes.",
		.effect = "The intervals hold for the server under this load.",
		.todo = "Nothing: use the number, with its interval.",
	} },
	{ "indicative", "load", {
		.what = "No check fails, but some could not be made or are tolerated, agents were "
			"lost, or the bounds hold for this run only.",
		.effect = "The number is a good guide; it may differ in another run.",
		.todo = "Run for longer (--for), and --repeat to see how runs vary. "
			"not_tested in JSON names the checks that could not be made.",
	} },
	{ "tolerated", "load", {
		.what = "A check of the run failed, and --tolerate says that this is accepted.",
		.effect = "The result stands, as indicative at best. Its bounds are not "
			  "widened for it.",
		.todo = "Nothing, if you know why it fails. Ask hostlat help about its reason.",
	} },
	{ "unusable", "load", {
		.what = "The verdict is n/a: a check of the run failed.",
		.effect = "The percentiles are what was seen. Do not compare them with others.",
		.todo = "Do what hostlat help says for the reasons of the result.",
	} },
	{ "run", "load", {
		.what = "The scope of a percentile, in text \"in this run only\". The latency "
			"changed too slowly, or too rarely, to tell what it is at other times.",
		.effect = "The bounds are what these requests met, not what the server does at "
			  "other times.",
		.todo = "Use --repeat, or a much longer run (--for), to learn what the server does "
			"at other times.",
	} },
	{ "server", "load", {
		.what = "The scope of a percentile (JSON): its bounds hold for the server under "
			"this load.",
		.effect = "Another run under the same load would have a like result.",
		.todo = "Nothing.",
	} },
	{ "receive-buffer-set", "conns", {
		.what = "Why the receiver's window is small: its application has set SO_RCVBUF.",
		.effect = "The kernel does not enlarge such a buffer.",
		.todo = "Remove SO_RCVBUF from the application, or set it to twice what is in "
			"flight.",
	} },
	{ "still-growing", "conns", {
		.what = "Why the receiver's window is small: the kernel is still enlarging the "
			"buffer.",
		.effect = "A young connection is slower for some round trips.",
		.todo = "If the limit persists, raise the third value of net.ipv4.tcp_rmem at the "
			"receiver. Keep connections open instead of making new ones.",
	} },
	{ "excess", "diagnose, explain, compare", {
		.what = "A message's time above its baseline: what a slow message took longer than "
			"usual ones of its application.",
		.effect = "The causes of a slow message divide its excess, not its whole latency.",
		.todo = "Look at the cause with the largest share first.",
	} },
	{ "baseline", "diagnose, explain, compare", {
		.what = "The usual time of the reference messages, by default those from 40 % to "
			"60 % of the latencies of the same application.",
		.effect = "Where the reference messages are slow, too, the excess is small.",
		.todo = "Compare with the fastest messages (--against fastest) or with another "
			"recording, if the usual message is slow.",
	} },
	{ "coverage", "diagnose, explain", {
		.what = "The share of a message's excess that causes explain.",
		.effect = "What is not covered is in no sentence about causes.",
		.todo = "Below 80 %, look for lost events and for time that was not recorded.",
	} },
	{ "granularity", "diagnose, explain", {
		.what = "The resolution of a recording's times.",
		.effect = "Shorter times cannot be told from none.",
		.todo = "Nothing.",
	} },
	{ "n/a", NULL, {
		.what = "Not available: a number that could not be measured, or a result that "
			"cannot be relied on.",
		.effect = "The exit status is 3, and JSON has null. It never means 0.",
		.todo = "Look at the reasons of the result (reasons[] in JSON), and ask hostlat "
			"help about them.",
	} },
	{ "partial", NULL, {
		.what = "A part of the result is missing, and the reasons say which.",
		.effect = "The exit status is 3. What is shown was measured.",
		.todo = "Look at the reasons of the result (reasons[] in JSON), and ask hostlat "
			"help about them.",
	} },
	{ PERCENTILE_WORD, NULL, {
		.what = "A percentile: 99 of 100 requests or packets took less, 1 took as long or "
			"longer. p50 is the median. Numbers in brackets are its confidence "
			"interval.",
		.effect = "The farther out, the more requests it needs: p99.9 needs about ten "
			  "times as many as p99.",
		.todo = "For one with its reason for n/a or none, ask hostlat help about that "
			"reason.",
	} },
	{ "rho", "explain, diagnose", {
		.what = "Spearman's rank correlation of two series, from -1 to 1: 1 if both always "
			"rise together, 0 if they have nothing in common.",
		.effect = "Two series that rise together need not be cause and effect.",
		.todo = "Look first at the causes of slow messages, which are measured. p is the "
			"probability of so large a rho by chance.",
	} },
	{ "FR", "conns, explain", {
		.what = "Fast retransmits: segments that were sent again because later ones were "
			"acknowledged.",
		.effect = "Each costs about a round trip.",
		.todo = "Ask hostlat help about fast-retransmit.",
	} },
	{ "RTO", "conns, explain", {
		.what = "Retransmission timeouts: no acknowledgement came for 200 ms or longer.",
		.effect = "Each delays the data by that time.",
		.todo = "Ask hostlat help about timeout.",
	} },
	{ "TLP", "conns, explain", {
		.what = "Tail-loss probes: the last segment of a burst was sent again, or new "
			"data instead, as its acknowledgement was late.",
		.effect = "A probe that repairs a loss saves a timeout.",
		.todo = "Ask hostlat help about tail-loss-probe.",
	} },
	{ "held", "conns, explain", {
		.what = "The times that data waited for an acknowledgement which the peer delayed.",
		.effect = "Each costs up to 40 ms on Linux.",
		.todo = "Ask hostlat help about delayed-ack and nagle.",
	} },
	{ "wakeup", "load", {
		.what = "A part of a request's latency: from the arrival of the reply at this host "
			"to the moment at which hostlat's sleeping thread runs again.",
		.effect = "This is time of the load generator, not of the server.",
		.todo = "If it is large, give hostlat CPUs that nothing else uses (--pin, "
			"--threads), or load from another host.",
	} },
	{ NULL, NULL, {} },
};

/* Whether a word is a percentile, such as p99.9. */
static bool glossary_is_percentile(const char *word)
{
	return word[0] == 'p' && isdigit((unsigned char)word[1]) &&
	       !word[1 + strspn(word + 1, "0123456789.")];
}

/* Whether a word is the head of a column such as "over 25 %". */
static bool glossary_is_over(const char *word)
{
	const size_t len = strlen(OVER_WORD);

	return !strncmp(word, OVER_WORD, len) && (word[len] == ' ' || word[len] == '-') &&
	       isdigit((unsigned char)word[len + 1]);
}

/* Whether a word is the name of an entry, in which "-" stands for a blank. */
static bool glossary_is_name(const char *name, const char *word)
{
	while (*name && (*name == *word || (*name == '-' && *word == ' '))) {
		name++;
		word++;
	}
	return *name == *word;
}

/* ---- lists ---- */

#define STAGE_WHEN(NAME, value, name, when) [value] = when,
static const char *const stage_whens[STAGE_MAX] = { STAGE_LIST(STAGE_WHEN) };
#undef STAGE_WHEN

static bool glossary_get_cause(unsigned int i, struct glossary_entry *e)
{
	if (i == CAUSE_MAX)
		return false;
	*e = (struct glossary_entry){ .name = cause_name(i), .phrase = cause_phrase(i),
				      .text = &glossary_causes[i] };
	return true;
}

static bool glossary_get_class(unsigned int i, struct glossary_entry *e)
{
	if (i == CONN_CLASSES)
		return false;
	*e = (struct glossary_entry){ .name = conn_class_name(i), .text = &glossary_classes[i] };
	return true;
}

static bool glossary_get_limit(unsigned int i, struct glossary_entry *e)
{
	if (i == WORDS_TIMES)
		return false;
	*e = (struct glossary_entry){ .name = words_time_name(i), .text = &glossary_limits[i] };
	return true;
}

static bool glossary_get_side(unsigned int i, struct glossary_entry *e)
{
	if (i == BOTTLENECK_MAX)
		return false;
	*e = (struct glossary_entry){ .name = bottleneck_name(i), .text = &glossary_sides[i] };
	return true;
}

static bool glossary_get_stage(unsigned int i, struct glossary_entry *e)
{
	if (i == STAGE_MAX)
		return false;
	*e = (struct glossary_entry){ .name = stage_whens[i] ? stage_name(i) : NULL,
				      .phrase = stage_whens[i], .text = &glossary_stages[i] };
	return true;
}

/* Returns the sentence of the first gate with this code; NULL: no gate has it. */
static const char *glossary_gate_sentence(const char *code)
{
	for (unsigned int gate = 0; gate < GATES; gate++)
		if (!strcmp(gate_code(gate), code))
			return gate_sentence(gate);
	return NULL;
}

static bool glossary_get_row(const struct glossary_reason *row, struct glossary_entry *e)
{
	*e = (struct glossary_entry){ .name = row->code, .commands = row->commands,
				      .text = &row->text };
	return row->code;
}

static bool glossary_get_load_reason(unsigned int i, struct glossary_entry *e)
{
	if (!glossary_get_row(&glossary_load_reasons[i], e))
		return false;
	e->phrase = glossary_gate_sentence(e->name);
	return true;
}

static bool glossary_get_other_reason(unsigned int i, struct glossary_entry *e)
{
	return glossary_get_row(&glossary_other_reasons[i], e);
}

static bool glossary_get_loss(unsigned int i, struct glossary_entry *e)
{
	return glossary_get_row(&glossary_losses[i], e);
}

static bool glossary_get_why(unsigned int i, struct glossary_entry *e)
{
	if (i == LOAD_WHY_METHOD)
		return false;
	*e = (struct glossary_entry){ .name = load_why_code(i + 1), .text = &glossary_whys[i] };
	return true;
}

static bool glossary_get_word(unsigned int i, struct glossary_entry *e)
{
	return glossary_get_row(&words[i], e);
}

static bool glossary_get_evidence(unsigned int i, struct glossary_entry *e)
{
	if (i == FLEET_EVIDENCES)
		return false;
	*e = (struct glossary_entry){ .name = fleet_evidence_name(i),
				      .text = &glossary_evidence[i] };
	return true;
}

static bool glossary_get_kind(unsigned int i, struct glossary_entry *e)
{
	if (i == FLEET_KINDS)
		return false;
	*e = (struct glossary_entry){ .name = fleet_kind_name(i), .text = &glossary_kinds[i] };
	return true;
}

static bool glossary_get_fleet_class(unsigned int i, struct glossary_entry *e)
{
	if (i == FLEET_CLASSES)
		return false;
	*e = (struct glossary_entry){ .name = fleet_class_name(i),
				      .text = &glossary_fleet_classes[i] };
	return true;
}

static bool glossary_get_column(unsigned int i, struct glossary_entry *e)
{
	return glossary_get_row(&glossary_columns[i], e);
}

#define REASON "reason for n/a or partial"

static const struct {
	const char *kind, *commands, *page;
	bool (*get)(unsigned int i, struct glossary_entry *entry);
} lists[GLOSSARY_LISTS] = {
	[GLOSSARY_CAUSES] = { "cause of a slow message", "diagnose, explain", "hostlat-causes",
			      glossary_get_cause },
	[GLOSSARY_CLASSES] = { "problem of a connection", "conns", "hostlat-causes",
			       glossary_get_class },
	[GLOSSARY_LIMITS] = { "limit of a connection", "conns, explain", "hostlat-conns",
			      glossary_get_limit },
	[GLOSSARY_SIDES] = { "bottleneck of a connection", "conns --peer", "hostlat-conns",
			     glossary_get_side },
	[GLOSSARY_STAGES] = { "stage of a packet", "watch, record", "hostlat-stages",
			      glossary_get_stage },
	[GLOSSARY_LOAD_REASONS] = { REASON, NULL, "hostlat-causes", glossary_get_load_reason },
	[GLOSSARY_OTHER_REASONS] = { REASON, NULL, "hostlat-causes", glossary_get_other_reason },
	[GLOSSARY_LOSSES] = { "reason for lost packets", "watch, record",
			      "hostlat-stages", glossary_get_loss },
	[GLOSSARY_WHYS] = { "why a percentile lacks a bound", "load", "hostlat-causes",
			    glossary_get_why },
	[GLOSSARY_WORDS] = { "word of a result", NULL, "hostlat-causes", glossary_get_word },
	[GLOSSARY_EVIDENCE] = { "evidence of a problem", "fleet", "hostlat-fleet",
				glossary_get_evidence },
	[GLOSSARY_KINDS] = { "resource that connections share", "fleet", "hostlat-fleet",
			     glossary_get_kind },
	[GLOSSARY_FLEET_CLASSES] = { "problem of connections", "fleet", "hostlat-fleet",
				     glossary_get_fleet_class },
	[GLOSSARY_COLUMNS] = { "column", "fleet", "hostlat-fleet", glossary_get_column },
};

bool glossary_get(enum glossary_list list, unsigned int i, struct glossary_entry *entry)
{
	if (!lists[list].get(i, entry))
		return false;
	entry->kind = lists[list].kind;
	entry->page = lists[list].page;
	if (!entry->commands)
		entry->commands = lists[list].commands;
	return true;
}

/* ---- text ---- */

/* Adds "Label     sentences", wrapped below the label. */
static void glossary_put_part(const char *label, const char *phrase, const char *text,
			      struct strbuf *out)
{
	struct strbuf line = STRBUF_INIT(4096);

	if (phrase)
		strbuf_printf(&line, "%c%s.%s", toupper((unsigned char)*phrase), phrase + 1,
			      text ? " " : "");
	strbuf_puts(&line, text ? text : "");
	if (line.len) {
		strbuf_printf(out, "  %-*s", LABEL_WIDTH - 2, label);
		opt_text_wrap(out, strbuf_str(&line), LABEL_WIDTH);
	}
	strbuf_release(&line);
}

static void glossary_put_entry(const struct glossary_entry *e, struct strbuf *out)
{
	strbuf_printf(out, "%s: %s", e->name, e->kind);
	if (e->commands)
		strbuf_printf(out, " (%s)", e->commands);
	strbuf_putc(out, '\n');
	glossary_put_part("What", e->phrase, e->text->what, out);
	glossary_put_part("Effect", NULL, e->text->effect, out);
	glossary_put_part("To do", NULL, e->text->todo, out);
	strbuf_printf(out, "  %-*sman %s\n", LABEL_WIDTH - 2, "More", e->page);
}

bool glossary_put(const char *word, struct strbuf *out)
{
	struct glossary_entry e;
	bool found = false;

	if (glossary_is_percentile(word))
		word = PERCENTILE_WORD;
	else if (glossary_is_over(word))
		word = OVER_WORD;
	for (unsigned int list = 0; list < GLOSSARY_LISTS; list++) {
		for (unsigned int i = 0; glossary_get(list, i, &e); i++) {
			if (!e.name || !glossary_is_name(e.name, word))
				continue;
			strbuf_puts(out, found ? "\n" : "");
			glossary_put_entry(&e, out);
			found = true;
		}
	}
	return found;
}

/* Returns whether an earlier list has the word, too. */
static bool glossary_has_before(enum glossary_list end, const char *word)
{
	struct glossary_entry e;

	for (unsigned int list = 0; list < end; list++)
		for (unsigned int i = 0; glossary_get(list, i, &e); i++)
			if (e.name && !strcmp(e.name, word))
				return true;
	return false;
}

void glossary_for_each(void (*offer)(const char *word, void *context), void *context)
{
	struct glossary_entry e;

	for (unsigned int list = 0; list < GLOSSARY_LISTS; list++)
		for (unsigned int i = 0; glossary_get(list, i, &e); i++)
			if (e.name && !glossary_has_before(list, e.name))
				offer(e.name, context);
}
