/* SPDX-License-Identifier: Apache-2.0 */
/* Which known word a mistyped one was meant to be, by edit distance. */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 63

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein distance, one row of the table at a time. SIZE_MAX if a word is too long. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t replaced = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = smaller(replaced, smaller(row[j], row[j - 1]) + 1);
		}
	}
	return row[b_len];
}

void nearest_init(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){ .word = word, .distance = SIZE_MAX };
}

/* Worth suggesting: about a third of the letters may be wrong, or the word was cut short. */
void nearest_offer(struct nearest *nearest, const char *known)
{
	size_t typed = strlen(nearest->word);
	size_t distance = edit_distance(nearest->word, known);

	if (typed >= 3 && strncmp(nearest->word, known, typed) == 0)
		distance = 1;
	if (distance > (typed + 1) / 3 || distance >= typed)
		return;
	if (distance >= nearest->distance)
		return;
	nearest->best = known;
	nearest->distance = distance;
}
