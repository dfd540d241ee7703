/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in ClickHouse's format RowBinary: the columns one after the other. A UInt64 has 8 bytes, the
 * lowest first; a String has its number of bytes, in groups of 7 bits, the lowest first (the top
 * bit says that another group follows), and then its bytes.
 */
#ifndef HOSTLAT_STORE_ROWBINARY_H
#define HOSTLAT_STORE_ROWBINARY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "store/tables.h"

#define ROWBINARY_LENGTH_MAX 5u /* bytes of a length that are read */

/* Most bytes that a row of n columns can have. */
#define ROWBINARY_ROW_MAX(n) ((size_t)(n) * (STORE_TEXT_MAX + ROWBINARY_LENGTH_MAX))

/* Appends a row. */
void rowbinary_write(const struct store_table *table, const void *row, struct strbuf *out);

/*
 * Returns the number of bytes of the first row in data[size]; 0 if the row is not complete, or
 * -EBADMSG if it is none: a text that has a NUL or more than STORE_TEXT_MAX bytes, or a number
 * above INT64_MAX.
 */
ssize_t rowbinary_measure(const struct store_table *table, const unsigned char *data, size_t size);

/*
 * Fills a row from the bytes of a row that rowbinary_measure() has found complete. Texts of the row
 * point into the data, which are changed: each text moves by one byte, to end with a NUL.
 */
void rowbinary_read(const struct store_table *table, unsigned char *data, void *row);

#endif
