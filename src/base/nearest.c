/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the known word nearest to a mistyped word, by edit distance. */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 63

static size_t nearest_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Returns the number of letters inserted, deleted, replaced or swapped with a neighbor (optimal
 * string alignment), by dynamic programming with three rows. Returns SIZE_MAX if a word is longer
 * than WORD_MAX.
 */
static size_t nearest_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		const size_t *before = rows[(i + 1) % 3], *above = rows[(i + 2) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = nearest_min(above[j - 1] + (a[i - 1] != b[j - 1]),
					     nearest_min(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = nearest_min(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

void nearest_init(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){ .word = word, .distance = SIZE_MAX };
}

/* Suggests `known` if at most about a third of the letters differ, or if the user cut it short. */
void nearest_offer(struct nearest *nearest, const char *known)
{
	size_t typed = strlen(nearest->word);
	size_t distance = nearest_distance(nearest->word, known);

	if (typed >= 3 && strncmp(nearest->word, known, typed) == 0)
		distance = 1;
	if (distance > (typed + 1) / 3 || distance >= typed)
		return;
	if (distance >= nearest->distance)
		return;
	nearest->best = known;
	nearest->distance = distance;
}
