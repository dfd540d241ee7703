/* SPDX-License-Identifier: Apache-2.0 */
/* Random trees of spans, judged a second time by hand: a nanosecond at a time, a path at a time. */
#ifndef TESTS_UNIT_NESTING_NAIVE_H
#define TESTS_UNIT_NESTING_NAIVE_H

void test_naive(void **state);
void test_order(void **state);

#endif
