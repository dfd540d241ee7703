/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `diagnose --paper`: counts deviations as NSight does (Haecki et al., NSDI 2022, 4.2 and 5.2), to
 * compare results with the paper's. Each deviation above the granularity counts, however much the
 * baseline varies.
 */
#ifndef HOSTLAT_DIAGNOSE_PAPER_H
#define HOSTLAT_DIAGNOSE_PAPER_H

struct diagnose_method;
struct nesting_rule;

extern const struct diagnose_method paper_method;

/*
 * A function explains its caller by its whole deviation. A function that no function within it
 * explains is charged with its whole deviation, and no function within it is reported.
 */
extern const struct nesting_rule paper_nesting;

#endif
