/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The glossary: what each word of a result means, what it does to the result, and what to do. Both
 * `hostlat help WORD` and hostlat-causes(7) are made from it.
 */
#ifndef HOSTLAT_CMD_GLOSSARY_H
#define HOSTLAT_CMD_GLOSSARY_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "cmd/glossary_rows.h"

enum glossary_list {
	GLOSSARY_CAUSES,    /* causes of slow messages: enum cause */
	GLOSSARY_CLASSES,   /* problems of connections: enum conn_class */
	GLOSSARY_LIMITS,    /* limits that divide a connection's time: words_time_name() */
	GLOSSARY_SIDES,     /* sides of a connection's bottleneck: enum bottleneck_side */
	GLOSSARY_STAGES,    /* stages of a packet: enum stage */
	/* codes of report_reason(), why a result is n/a or partial: of load, and of the others */
	GLOSSARY_LOAD_REASONS, GLOSSARY_OTHER_REASONS,
	GLOSSARY_LOSSES,    /* why packets of watch were lost: pkt_loss_names, and recursion */
	GLOSSARY_WHYS,      /* why a percentile lacks a bound: enum load_why */
	GLOSSARY_WORDS,     /* confidence and scope of a result of load */
	GLOSSARY_EVIDENCE,  /* how a problem shows in hostlat fleet: enum fleet_evidence */
	GLOSSARY_KINDS,     /* resources that connections share: enum fleet_kind */
	GLOSSARY_FLEET_CLASSES, /* problems in hostlat fleet: enum fleet_class */
	GLOSSARY_COLUMNS,   /* heads of its tables, with - for blanks */
	GLOSSARY_LISTS,
};

/* One meaning of a word. A word that is in two lists has two entries. */
struct glossary_entry {
	const char *name;
	const char *kind;   /* kind of the list's words, such as "cause of a slow message" */
	const char *commands; /* commands that use the word, such as "diagnose, explain" */
	const char *phrase; /* the word as results say it, no capital and no period; NULL: none */
	const char *page;   /* name of the man page that says more, without its section */
	const struct glossary_text *text;
};

/*
 * Gets entry `i` of a list; call it with 0, 1, 2 and so on until it returns false, behind the last
 * one. An entry without a name is a gap in the numbers of the list's enum.
 */
bool glossary_get(enum glossary_list list, unsigned int i, struct glossary_entry *entry);

/*
 * Appends all meanings of `word`, at most 80 columns wide. A blank in it is as good as a "-".
 * Returns false if there is none.
 */
bool glossary_put(const char *word, struct strbuf *out);

/* Calls `offer` for each word once. */
void glossary_for_each(void (*offer)(const char *word, void *context), void *context);

#endif
