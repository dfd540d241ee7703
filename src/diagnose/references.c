/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/references.h"

#include <string.h>

const struct recorded *references_of(const struct diagnosis *d)
{
	return d->against_other ? &d->other : &d->own;
}

bool references_have(const struct diagnosis *d, uint32_t subject)
{
	/*
	 * If another recording has the references, they are its messages chosen by the same
	 * selection, marked there as targets.
	 */
	return d->against_other ? d->other.subjects.items[subject].target :
	       d->own.subjects.items[subject].reference;
}

bool references_serve(const struct diagnosis *d, const struct message *target, uint32_t subject)
{
	const struct message *m = subject_message(references_of(d), subject);
	const struct task_name *a, *b;

	if (!references_have(d, subject))
		return false;
	if (!d->against_other)
		return target->pid == m->pid;
	a = tasks_get(&d->own.tasks, tasks_by_tid(&d->own.tasks, target->tid));
	b = tasks_get(&d->other.tasks, tasks_by_tid(&d->other.tasks, m->tid));
	return a->tid && b->tid && !strcmp(a->comm, b->comm);
}
