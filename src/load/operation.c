/* SPDX-License-Identifier: Apache-2.0 */
#include "load/operation.h"

#include <stddef.h>

#define ROW(name, share, has_value) [name] = { share, has_value },

const struct operation_row operation_rows[OPERATIONS] = { OPERATION_ROWS(ROW) };
