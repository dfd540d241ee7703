/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/way.h"

void way_charge(struct way *w, uint64_t until, enum cause cause, const struct slice *more)
{
	struct slice slice = *more;

	if (until <= w->at)
		return;
	slice.begin = w->at;
	slice.end = until;
	slice.cause = (uint8_t)cause;
	if (slice.where == WHERE_MAX)
		slice.where = (uint8_t)w->where;
	w->p->emit(w->p->ctx, &slice);
	w->at = until;
}

struct slice way_about(const struct way *w, uint32_t core, const struct atom *atom)
{
	struct slice slice = { .core = core, .where = WHERE_MAX, .message = w->serving };

	if (atom) {
		slice.seen = atom->type;
		slice.ran = atom->task;
		if (atom->type == ATOM_HARDIRQ || atom->type == ATOM_SOFTIRQ)
			slice.what = atom->what;
		else
			slice.what = atom->call;
	}
	return slice;
}

void way_blind(struct way *w, uint64_t until, uint32_t core)
{
	struct slice slice = way_about(w, core, NULL);

	slice.message = 0;
	way_charge(w, until, CAUSE_BLIND, &slice);
}

bool way_interrupt(struct way *w, uint32_t core, const struct atom *atom, uint64_t end)
{
	struct slice slice = way_about(w, core, atom);
	bool net = atom->what == SOFTIRQ_NET_RX || atom->what == SOFTIRQ_NET_TX;

	if (atom->type == ATOM_HARDIRQ)
		way_charge(w, end, CAUSE_INTERRUPT, &slice);
	else if (atom->type == ATOM_SOFTIRQ)
		way_charge(w, end, net ? CAUSE_OTHER_RECEIVE : CAUSE_SOFTIRQ, &slice);
	return atom->type == ATOM_HARDIRQ || atom->type == ATOM_SOFTIRQ;
}

void way_other(struct way *w, uint32_t core, const struct atom *atom, uint64_t end)
{
	const struct task *task = tasks_get(w->p->tasks, atom->task);
	struct slice slice = way_about(w, core, atom);

	if (task->thread == w->thread) { /* it runs where it is said not to */
		way_blind(w, end, core);
		return;
	}
	slice.culprit = atom->task;
	slice.what = 0;
	way_charge(w, end, task->softirqd ? CAUSE_SOFTIRQ :
	       task->pid && task->pid == w->p->recorder ? CAUSE_HOSTLAT : CAUSE_CPU_WAIT, &slice);
}

void way_lose_reader(struct way *w, uint64_t until, uint32_t core)
{
	w->unsure |= w->serving != 0;
	w->serving = 0;
	way_blind(w, until, core);
}

void way_serve_none(struct way *w, uint64_t time)
{
	w->serving = 0;
	w->known = time;
	w->unsure = false;
}
