/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts, one for each shell; each is in a file of its own. */
#ifndef HOSTLAT_CMD_COMPLETION_SHELLS_H
#define HOSTLAT_CMD_COMPLETION_SHELLS_H

#include "base/strbuf.h"
#include "cmd/cmd.h"

void completion_put_bash(const struct command *const *table, struct strbuf *out);
void completion_put_zsh(const struct command *const *table, struct strbuf *out);
void completion_put_fish(const struct command *const *table, struct strbuf *out);

#endif
