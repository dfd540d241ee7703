/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the passes over connections begin when they are due. A pass waits for a CPU like any
 * other task; so what happens while the CPUs are busy is seen less than it happens, and the samples
 * are not those of random moments (Wolff 1982 supposes that they are).
 */
#ifndef HOSTLAT_CONNS_LATENESS_H
#define HOSTLAT_CONNS_LATENESS_H

#include <stdbool.h>
#include <stdint.h>

#define LATENESS_PASSES 60       /* passes after which the share of late ones is judged */
#define LATENESS_SHARE 0.1       /* more of them must not be late: 0.05, and what chance adds */
#define LATENESS_NS 1000000ULL   /* by this much */

struct lateness {
	uint32_t passes, late; /* since the last judgement */
	bool is_late;          /* by the last judgement */
};

/*
 * Notes a pass that was due at `due_ns` and began at `now_ns`, of the same clock. Until `busy_ns`,
 * hostlat did other work: that is no wait for a CPU.
 */
static inline void lateness_note(struct lateness *l, uint64_t due_ns, uint64_t busy_ns,
				 uint64_t now_ns)
{
	const uint64_t from_ns = due_ns > busy_ns ? due_ns : busy_ns;

	l->late += now_ns > from_ns && now_ns - from_ns > LATENESS_NS;
	if (++l->passes < LATENESS_PASSES)
		return;
	l->is_late = l->late > l->passes * LATENESS_SHARE;
	l->passes = l->late = 0;
}

#endif
