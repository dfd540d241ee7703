/* SPDX-License-Identifier: Apache-2.0 */
/* A circular doubly linked list of links inside items. A zeroed link is in no list. */
#ifndef HOSTLAT_LOAD_LIST_H
#define HOSTLAT_LOAD_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
	struct link *prev, *next;
};

#define list_item(at, type, member) ((type *)(void *)((char *)(at) - offsetof(type, member)))

/* Returns the first item; NULL if the list is empty. */
#define list_first(list, type, member)                                                             \
	((list)->next == (list) ? NULL : list_item((list)->next, type, member))

/* Returns the item after `item`, NULL at the end. */
#define list_after(list, item, type, member)                                                       \
	((item)->member.next == (list) ? NULL : list_item((item)->member.next, type, member))

static inline void list_init(struct link *list)
{
	list->prev = list->next = list;
}

static inline bool list_empty(const struct link *list)
{
	return list->next == list;
}

static inline void list_append(struct link *list, struct link *link)
{
	link->prev = list->prev;
	link->next = list;
	list->prev->next = link;
	list->prev = link;
}

/* Removes a link from its list; a zeroed link is ignored. */
static inline void list_remove(struct link *link)
{
	if (!link->next)
		return;
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->prev = link->next = NULL;
}

#endif
