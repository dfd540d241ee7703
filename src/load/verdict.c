/* SPDX-License-Identifier: Apache-2.0 */
#include "load/verdict.h"

#include <string.h>

#include "base/bug.h"
#include "load/evidence.h"
#include "load/gates.h"
#include "load/gates_allow.h"
#include "report/human.h"

#define EVIDENCE_MAX 4096

/*
 * Returns whether the agent's schedule ended before the requested time, by more than 20 mean gaps,
 * twice LOAD_TICK_NS and 1 % of the time.
 */
static bool exhausted_early(const struct load_analysis *a, const struct load_agent *agent)
{
	const double max = (double)a->config.max_time_ns;
	const double left = max - (double)agent->exhausted_ns;
	const double gaps = 20e9 * a->config.agents / a->config.rate;

	return agent->exhausted && !a->decided && left > 0.01 * max && left > gaps &&
	       left > 2 * LOAD_TICK_NS;
}

/* Returns whether the run was as long as requested. */
static bool verdict_is_whole(const struct load_analysis *a)
{
	if (a->interrupted || a->abort_on.met)
		return false;
	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (exhausted_early(a, &a->agents[i]))
			return false;
	}
	return true;
}

/* Returns whether the result is sound, apart from lost agents and, `drifting`, a drift. */
static bool verdict_stands(const struct load_analysis *a, bool drifting)
{
	if (!verdict_is_whole(a))
		return false;
	for (int i = 0; i < GATES; i++) {
		if (gate_objects(&a->result.gates[i]) &&
		    !(drifting && a->result.gates[i].drifts))
			return false;
	}
	return true;
}

static uint32_t lost_agents(const struct load_analysis *a)
{
	uint32_t lost = 0;

	for (uint32_t i = 0; i < a->config.agents; i++)
		lost += a->agents[i].lost;
	return lost;
}

bool verdict_sound(const struct load_analysis *a)
{
	return !lost_agents(a) && verdict_stands(a, false);
}

bool verdict_sound_with_drift(const struct load_analysis *a)
{
	return !lost_agents(a) && verdict_stands(a, true);
}

bool verdict_sound_below(const struct load_analysis *a)
{
	return !lost_agents(a) && verdict_is_whole(a) && gates_allow_lower(a);
}

/* Returns the verdict. With lost agents it is partial: the other agents' measurements are valid. */
static const char *verdict_word(const struct load_analysis *a)
{
	const uint32_t lost = lost_agents(a);

	if (lost == a->config.agents || !verdict_stands(a, false))
		return "n/a";
	return lost ? "partial" : "ok";
}

/* Whether no gate was left untested or tolerated. */
static bool all_tested(const struct load_analysis *a)
{
	for (int i = 0; i < GATES; i++) {
		if (a->result.gates[i].untested || a->result.gates[i].tolerated)
			return false;
	}
	return true;
}

const char *verdict_confidence(const struct load_analysis *a)
{
	if (!strcmp(verdict_word(a), "n/a"))
		return "unusable";
	return verdict_sound(a) && all_tested(a) && !a->result.run_only ? "sound" : "indicative";
}

static bool verdict_is_repeated(const struct load_analysis *a, int id)
{
	for (int i = 0; i < id; i++) {
		if (gate_objects(&a->result.gates[i]) && !strcmp(gate_code(i), gate_code(id)))
			return true;
	}
	return false;
}

/*
 * Writes the evidence of all failed gates (validity checks) with the reason code of gate `id`,
 * which is the first of them.
 */
static void put_evidence(const struct load_analysis *a, int id, struct strbuf *out)
{
	const char *between = "";

	for (int i = id; i < GATES; i++) {
		if (!gate_objects(&a->result.gates[i]) || strcmp(gate_code(i), gate_code(id)))
			continue;
		strbuf_puts(out, between);
		gate_evidence(a, i, out);
		between = "; ";
	}
}

void verdict_why(const struct load_analysis *a, struct strbuf *out)
{
	for (int i = 0; i < GATES; i++) {
		if (!gate_objects(&a->result.gates[i]))
			continue;
		strbuf_printf(out, "%s (", gate_sentence(i));
		put_evidence(a, i, out);
		strbuf_puts(out, ")");
		return;
	}
}

static const char closes_all[] =
	"the server accepts connections and closes them without a reply";

/* Returns how the server ends connections before they are usable; NULL: it does not. */
static const char *verdict_ending(const struct load_analysis *a)
{
	const struct load_cause *top = causes_top(&a->causes, CAUSE_CONNECTION);

	if (top && !strcmp(top->name, CAUSE_CUT))
		return "the server ends connections in the middle of a reply";
	if (top && (!strcmp(top->name, CAUSE_CLOSED) || !strcmp(top->name, CAUSE_RESET)))
		return closes_all;
	return NULL;
}

/* Returns the most frequent cause if the server denied each request that failed; else NULL. */
static const struct load_cause *verdict_denial(const struct load_analysis *a)
{
	const struct causes *causes = &a->causes;

	for (uint32_t i = 0; i < causes->n; i++) {
		const struct load_cause *c = &causes->list[i];

		if (c->of == CAUSE_REQUEST && !error_text_denies(c->text, strlen(c->text)))
			return NULL;
	}
	return causes_top(causes, CAUSE_REQUEST);
}

bool load_analysis_shut_out(const struct load_analysis *analysis, struct strbuf *why)
{
	const struct load_cause *denial = verdict_denial(analysis);
	const char *ending = verdict_ending(analysis);

	if (SUM(uint64_t, analysis, last.completed))
		return false;
	if (denial) {
		strbuf_printf(why, "the server refuses every request: '%s'", denial->text);
		return true;
	}
	if (analysis->result.gates[GATE_SERVER].pass || !ending)
		return false;
	strbuf_puts(why, ending);
	if (ending == closes_all)
		strbuf_puts(why, " (does the server speak TLS, or another protocol?)");
	return true;
}

/*
 * Returns the sentence for a failed gate (validity check), or a more specific sentence derived from
 * the server's replies.
 */
static const char *verdict_sentence(const struct load_analysis *a, int id, struct report *r)
{
	const struct load_cause *reply = causes_top(&a->causes, CAUSE_REPLY);

	if (id == GATE_STATUS && reply && reply->count == SUM(uint64_t, a, last.completed))
		return report_format(r, "%s to every request", reply->name);
	if (id == GATE_SERVER && verdict_ending(a))
		return verdict_ending(a);
	return gate_sentence(id);
}

static void verdict_report_gate(const struct load_analysis *a, int id, struct report *r)
{
	struct strbuf evidence = STRBUF_INIT(EVIDENCE_MAX);

	put_evidence(a, id, &evidence);
	report_reason(r, gate_code(id), strbuf_str(&evidence), "%s", verdict_sentence(a, id, r));
	strbuf_release(&evidence);
}

/*
 * Gates (validity checks) that are reported first, since their failure may make other gates fail.
 */
static const enum gate_id first_gates[] = { GATE_PORTS, GATE_SERVER, GATE_STATUS, GATE_ERRORS };

static bool is_first(int id)
{
	for (size_t i = 0; i < ARRAY_LEN(first_gates); i++) {
		if ((int)first_gates[i] == id)
			return true;
	}
	return false;
}

static void verdict_report_gates(const struct load_analysis *a, struct report *r)
{
	for (size_t i = 0; i < ARRAY_LEN(first_gates); i++) {
		if (gate_objects(&a->result.gates[first_gates[i]]))
			verdict_report_gate(a, first_gates[i], r);
	}
	for (int i = 0; i < GATES; i++) {
		if (gate_objects(&a->result.gates[i]) && !is_first(i) && !verdict_is_repeated(a, i))
			verdict_report_gate(a, i, r);
	}
}

static void verdict_report_abort(const struct load_analysis *a, struct report *r)
{
	struct strbuf evidence = STRBUF_INIT(EVIDENCE_MAX);

	abort_on_evidence(&a->abort_on, &evidence);
	report_reason(r, "aborted", strbuf_str(&evidence), "--abort-on ended the run");
	strbuf_release(&evidence);
}

void verdict_report(const struct load_analysis *a, struct report *r)
{
	char buf[HUMAN_MAX];

	report_verdict(r, verdict_word(a));
	if (a->interrupted)
		report_reason(r, "interrupted", NULL, "the run was cut short");
	if (a->abort_on.met)
		verdict_report_abort(a, r);
	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];

		if (agent->lost)
			report_reason(r, "agent-lost", agent->why, "agent %u was lost", i);
		if (exhausted_early(a, agent))
			report_reason(r, "schedule-exhausted",
				      human_ns(buf, agent->exhausted_ns),
				      "the schedule of agent %u ended before the end of the run",
				      i);
	}
	verdict_report_gates(a, r);
}
