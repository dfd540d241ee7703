/* SPDX-License-Identifier: Apache-2.0 */
#include "store/tables.h"

#include <string.h>

#include "base/bug.h"

#define COLUMN(row, member, type, help) { #member, type, offsetof(struct row, member), help }
#define WINDOW(member, type, help) COLUMN(store_window, member, type, help)
#define CONN(member, type, help) COLUMN(store_connection, member, type, help)
#define CLASS(class, what) \
	{ #class "_known_ns", STORE_U64, offsetof(struct store_connection, class.known_ns), \
	  "Time in which it is known whether " what }, \
	{ #class "_limited_ns", STORE_U64, offsetof(struct store_connection, class.limited_ns), \
	  "Part of this time in which " what }, \
	{ #class "_lost_ns", STORE_U64, offsetof(struct store_connection, class.lost_ns), \
	  "Time for which data waited because " what }, \
	{ #class "_series", STORE_TEXT, offsetof(struct store_connection, class.series), \
	  "Share of each interval, in 1/250: \"0*30 250 ?\" is 30 intervals of 0, one of 1 " \
	  "and an unknown one" }

#define VERSION \
	"Bytes of the recording that were read, times 1024, plus how often its applications got " \
	"other names since: the largest counts"

static const struct store_column window_columns[] = {
	WINDOW(host, STORE_TEXT, "Host that recorded"),
	WINDOW(recording_ns, STORE_U64, "Start of the run that recorded, in ns since 1970"),
	WINDOW(window_ns, STORE_U64, "Begin of the window, in ns since 1970"),
	WINDOW(version, STORE_U64, VERSION),
	WINDOW(length_ns, STORE_U64, "Length of the window"),
	WINDOW(step_ns, STORE_U64, "Length of its intervals"),
	WINDOW(from_ns, STORE_U64, "Begin of the part that was recorded"),
	WINDOW(to_ns, STORE_U64, "End of the part that was recorded"),
	WINDOW(boot_ns, STORE_U64, "Time at which the host's monotonic clock was 0"),
	WINDOW(pid, STORE_U64, "Process of the run"),
	WINDOW(connections, STORE_U64, "Rows of hostlat_connections that belong to this row"),
	WINDOW(kernel, STORE_TEXT, "Release of the kernel"),
	WINDOW(product, STORE_TEXT, "Model or instance type of the host"),
	WINDOW(clock, STORE_TEXT, "Whether the host's clock was synchronized"),
	WINDOW(clock_error_ns, STORE_U64, "Bound of that clock's error"),
	WINDOW(time_error_ns, STORE_U64, "Bound of the error of converted times"),
	WINDOW(read_to_ns, STORE_U64, "End of the whole recording when it was read"),
	WINDOW(ended, STORE_U64, "1: the run had ended, and its end was read"),
	WINDOW(own, STORE_U64, "Connections of hostlat itself, left out"),
	WINDOW(records, STORE_U64, "Records of connections in the whole recording"),
	WINDOW(untimed, STORE_U64, "Records left out because the clock was set"),
	WINDOW(invalid, STORE_U64, "Records left out because of impossible values"),
	WINDOW(lost, STORE_U64, "Events that the recording lost"),
	WINDOW(apps_hash, STORE_U64, "Hash of the table of --apps; 0: there was none"),
	WINDOW(damage, STORE_TEXT, "Damage of the recording"),
	WINDOW(file, STORE_TEXT, "The recording's file"),
	WINDOW(addresses, STORE_TEXT, "Addresses of the host's ends of connections"),
};

static const struct store_column connection_columns[] = {
	CONN(host, STORE_TEXT, "Host that recorded"),
	CONN(recording_ns, STORE_U64, "Start of the run that recorded, in ns since 1970"),
	CONN(window_ns, STORE_U64, "Begin of the window, in ns since 1970"),
	CONN(netns, STORE_U64, "Network namespace"),
	CONN(cookie, STORE_U64, "The kernel's number of the socket"),
	CONN(version, STORE_U64, VERSION),
	CONN(local, STORE_TEXT, "Address of this end"),
	CONN(remote, STORE_TEXT, "Address of the other end"),
	CONN(local_port, STORE_U64, "Port of this end"),
	CONN(remote_port, STORE_U64, "Port of the other end"),
	CONN(accepted, STORE_U64, "1: the other end opened the connection"),
	CONN(application, STORE_TEXT, "Application, by --apps of hostlat fleet ingest"),
	CONN(unit, STORE_TEXT, "systemd unit, or container"),
	CONN(cgroup, STORE_TEXT, "Control group"),
	CONN(command, STORE_TEXT, "Command of the process"),
	CLASS(send_buffer, "the send buffer was full"),
	CLASS(receiver_window, "the receiver's window was full"),
	CLASS(delayed_ack, "the peer delayed its ACK"),
	CLASS(fast_retransmit, "a segment was retransmitted early"),
	CLASS(timeout, "a retransmission timeout had passed"),
	CLASS(sender_app, "the application gave no data"),
};

const struct store_table store_windows = {
	.name = "hostlat_windows", .columns = window_columns, .n = ARRAY_LEN(window_columns),
	.keys = 4, .row_size = sizeof(struct store_window),
};

const struct store_table store_connections = {
	.name = "hostlat_connections", .columns = connection_columns,
	.n = ARRAY_LEN(connection_columns), .keys = 6, .row_size = sizeof(struct store_connection),
};

uint64_t store_u64(const struct store_column *column, const void *row)
{
	return *(const uint64_t *)((const char *)row + column->offset);
}

const char *store_text(const struct store_column *column, const void *row)
{
	return *(const char *const *)((const char *)row + column->offset);
}

uint64_t store_row_bytes(const struct store_table *table, const void *row)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < table->n; i++)
		sum += table->columns[i].type == STORE_U64 ? sizeof(uint64_t) :
		       strlen(store_text(&table->columns[i], row));
	return sum;
}
