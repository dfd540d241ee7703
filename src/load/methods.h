/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods to compute confidence intervals (--method). A row has the number, the name in options
 * and recordings, the help text and the struct method.
 */
#ifndef HOSTLAT_LOAD_METHODS_H
#define HOSTLAT_LOAD_METHODS_H

#include "load/method.h"

#define METHOD_ROWS(X)                                                                             \
	X(METHOD_ALL, "all", "all samples, their dependence accounted for", method_all)            \
	X(METHOD_LANCET, "lancet", "samples thinned until they look independent", method_lancet)

#define METHOD_ID(id, name, help, row) id,
enum load_method { METHOD_ROWS(METHOD_ID) METHODS };

const struct method *load_method(uint32_t method);
const char *load_method_name(uint32_t method);

#endif
