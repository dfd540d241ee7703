/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of --topology and --apps: what they mean, and what is said of wrong ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/bug.h"
#include "fleet/apps.h"
#include "fleet/csv.h"
#include "fleet/topology.h"

#define TABLES_MAX 4

/* ---- CSV ---- */

static void test_csv_fields(void **state)
{
	char text[] = "\xef\xbb\xbf" "a, b ,\"c,\"\"d\"\"\ne\"\r\n\n  \n,x";
	struct csv_row row;
	struct csv csv;

	(void)state;
	csv_init(&csv, text, sizeof(text) - 1);
	assert_int_equal(csv_next_row(&csv, &row), 1);
	assert_int_equal(row.n, 3);
	assert_string_equal(row.fields[0].text, "a");
	assert_string_equal(row.fields[1].text, "b");
	assert_int_equal(row.fields[1].column, 4);
	assert_string_equal(row.fields[2].text, "c,\"d\"\ne");
	assert_int_equal(csv_next_row(&csv, &row), 1);
	assert_int_equal(row.n, 2);
	assert_int_equal(row.line, 5);
	assert_string_equal(row.fields[0].text, "");
	assert_string_equal(row.fields[1].text, "x");
	assert_int_equal(csv_next_row(&csv, &row), 0);
}

/* ---- topologies ---- */

/* Reads tables, which end with NULL, named t1, t2 ...; returns NULL after an error in `why`. */
static struct topology *topology_of(const char *const *tables, struct strbuf *why)
{
	struct topology *t = topology_new();
	int err = 0;

	assert_non_null(t);
	for (int i = 0; !err && i < TABLES_MAX && tables[i]; i++) {
		const char name[] = { 't', (char)('1' + i), '\0' };
		char *text = strdup(tables[i]);

		assert_non_null(text);
		err = topology_read(t, name, text, strlen(text), why);
		free(text);
	}
	if (!err)
		err = topology_finish(t, why);
	if (!err)
		return t;
	assert_int_equal(err, -EINVAL);
	topology_free(t);
	return NULL;
}

static struct topology *good(const char *const *tables)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct topology *t = topology_of(tables, &why);

	assert_string_equal(strbuf_str(&why), "");
	strbuf_release(&why);
	assert_non_null(t);
	return t;
}

static void bad(const char *said, const char *first, const char *second)
{
	const char *const tables[TABLES_MAX] = { first, second };
	struct strbuf why = STRBUF_INIT(4096);
	struct topology *t = topology_of(tables, &why);

	assert_null(t);
	if (!strstr(strbuf_str(&why), said)) {
		print_error("'%s' instead of '%s'\n", strbuf_str(&why), said);
		fail();
	}
	strbuf_release(&why);
}

#define HOSTS "host,rack,instance,addresses\n"

static void test_bad_tables(void **state)
{
	(void)state;
	bad("t1:1:1: the file is empty", "", NULL);
	bad("t1:1:1: these columns make no table", "rack\n", NULL);
	bad("t1:1:6: unknown column 'rac'", "host,rac\n", NULL);
	bad("t1:1:6: column 'host' is given twice", "host,host\n", NULL);
	bad("t1:2:5: fields: 3, but 2 in the header", "host,rack\na,b,c\n", NULL);
	bad("t1:2:1: fields: 1, but 2 in the header", "host,rack\na\n", NULL);
	bad("t1:2:1: the host is missing", "host,rack\n,b\n", NULL);
	bad("t1:3:1: host 'a' has a row already, t1:2", "host,rack\na,b\na,c\n", NULL);
	bad("t2:2:1: host 'a' has a row already, t1:2", "host\na\n", "host\na\n");
	bad("t1:2:3: a quoted field does not end", "host,rack\na,\"b\n", NULL);
	bad("t1:2:6: text behind a closing quote", "host,rack\na,\"b\"c\n", NULL);
	bad("t1:2:4: a quote in a field without quotes", "host,rack\na,b\"c\n", NULL);
	bad("t1:2:1: the host has a control character", "host\na\x1b[31m\n", NULL);
	bad("t1:2:1: the host has a control character", "host\na\xff\n", NULL);
	bad("t1:1:1: unknown column '?[31m'", "\x1b[31m\n", NULL);
	bad("t1:2:5: '10.0.0.300' is no address", HOSTS "a,,,10.0.0.300\n", NULL);
	bad("t1:2:5: '10.0.0.1/8' is no address", HOSTS "a,,,10.0.0.1/8\n", NULL);
	bad("t1:2:5: '10.0.0.0/33' is no address", HOSTS "a,,,10.0.0.0/33\n", NULL);
	bad("t1:3:5: address 10.0.0.1 is also one of host 'a'",
	    HOSTS "a,,,10.0.0.1\nb,,,10.0.0.2 10.0.0.1\n", NULL);
	bad("t2:2:1: the rack is missing", "host,rack\na,r\n", "rack,switch\n,s\n");
	bad("t2:3:1: the same row as t2:2", "host,rack\na,r\n", "rack,switch\nr,s\nr,s\n");
	bad("t2:3:1: the same row as t2:2", "host,rack\na,r\nb,q\n",
	    "from,to,link\nr,q,l\nq,r,l\n");
	bad("t2:2:3: 'q' is no host, rack or switch", "host,rack\na,r\n", "from,to,link\nr,q,l\n");
	bad("t2:2:1: 'q' is no host, rack or switch", "host,rack\na,r\n", "rack,switch\nq,s\n");
	bad("'a' is a host and also a rack", "host,rack\na,a\n", NULL);
	bad("'s' is a switch and also a rack", "host,rack\na,s\n", "rack,switch\ns,s\n");
	bad("is above itself", "host,rack\na,r\n", "rack,switch\nr,s\ns,t\nt,s\n");
	bad("is above itself", "host,rack\na,r\n", "rack,switch\nr,s\ns,t\nt,u\nu,s\nu,v\n");
	bad("t2:2:5: a link from a place to itself", "host,rack\na,r\n", "from,to,link\nr,r,l\n");
}

static void bad_json(const char *said, const char *text)
{
	bad(said, text, NULL);
}

static void test_bad_json_rows(void **state)
{
	(void)state;
	bad_json("t1:1:2: these columns make no table", "[{}]");
	bad_json("t1:1:3: unknown column 'rac'", "[{\"rac\":\"r\"}]");
	bad_json("t1:1:14: column 'host' is given twice", "[{\"host\":\"a\",\"host\":\"b\"}]");
	bad_json("t1:1:10: the host is missing", "[{\"host\":\"\"}]");
	bad_json("t1:1:10: the host is missing", "[{\"host\":null}]");
	bad_json("t1:2:9: host 'a' has a row already, t1:1",
		 "[{\"host\":\"a\"},\n{\"host\":\"a\"}]");
	bad_json("t1:1:10: the host has a control character", "[{\"host\":\"a\\u001b[31m\"}]");
	bad_json("t1:1:10: the host has a control character", "[{\"host\":\"a\xff\"}]");
	bad_json("t1:1:10: a list in place of a name", "[{\"host\":[\"a\"]}]");
	bad_json("'10.0.0.300' is no address",
		 "[{\"host\":\"a\",\"addresses\":[\"10.0.0.1\",\"10.0.0.300\"]}]");
	bad_json("t1:1:11: these columns make no table",
		 "{\"hosts\":[{\"rack\":\"r\",\"switch\":\"s\"}]}");
	bad_json("t1:1:11: 'q' is no host, rack or switch",
		 "[{\"from\": \"q\",\"to\":\"r\",\"link\":\"l\"}]");
	bad_json("'s' is a switch and also a rack",
		 "{\"hosts\":[{\"host\":\"a\",\"rack\":\"s\"}],"
		 "\"switches\":[{\"rack\":\"s\",\"switch\":\"s\"}]}");
}

static void test_bad_json(void **state)
{
	(void)state;
	bad_json("t1:1:2: no name in quotes", "{host: 1}");
	bad_json("t1:1:2: a list of an unknown name", "{\"host\":[]}");
	bad_json("t1:1:12: a second list of this name", "{\"hosts\":[],\"hosts\":[]}");
	bad_json("t1:1:10: no list behind its name", "{\"hosts\":{}}");
	bad_json("t1:1:12: no comma between lists", "{\"hosts\":[]");
	bad_json("t1:1:13: no name in quotes", "{\"hosts\":[],}");
	bad_json("t1:1:2: no object in the list", "[[[[[[[[[[");
	bad_json("t1:1:2: no object in the list", "[1]");
	bad_json("t1:1:15: no object in the list", "[{\"host\":\"a\"},]");
	bad_json("t1:1:14: no comma between the objects", "[{\"host\":\"a\"}");
	bad_json("t1:1:13: text behind the end", "[{\"host\":1}]x");
	bad_json("t1:1:9: no colon", "[{\"host\"\"a\"}]");
	bad_json("t1:1:14: no comma between fields", "[{\"host\":\"a\" \"rack\":1}]");
	bad_json("t1:1:14: no name in quotes", "[{\"host\":\"a\",}]");
	bad_json("t1:1:10: a value of another kind", "[{\"host\":true}]");
	bad_json("t1:1:10: a value of another kind", "[{\"host\":{}}]");
	bad_json("t1:1:10: a value of another kind", "[{\"host\":01}]");
	bad_json("t1:1:10: a string does not end", "[{\"host\":\"a}]");
	bad_json("t1:1:12: an unknown escape", "[{\"host\":\"\\x\"}]");
	bad_json("an unknown escape", "[{\"host\":\"\\u00g0\"}]");
	bad_json("a NUL character", "[{\"host\":\"a\\u0000b\"}]");
	bad_json("half of a surrogate pair", "[{\"host\":\"\\ud83d\\u0041\"}]");
	bad_json("half of a surrogate pair", "[{\"host\":\"\\ude00\"}]");
	bad_json("half of a surrogate pair", "[{\"host\":\"\\ud83ddc00\"}]");
	bad_json("half of a surrogate pair", "[{\"host\":\"\\ud83d\\dc00\"}]");
	bad_json("a control character in a string", "[{\"host\":\"a\nb\"}]");
	bad_json("a list of other values", "[{\"host\":\"a\",\"addresses\":[1]}]");
	bad_json("no comma between the strings", "[{\"host\":\"a\",\"addresses\":[\"::1\"");
	bad_json("more than 16 fields", "[{\"a\":0,\"a\":0,\"a\":0,\"a\":0,\"a\":0,\"a\":0,"
		 "\"a\":0,\"a\":0,\"a\":0,\"a\":0,\"a\":0,\"a\":0,\"a\":0,\"a\":0,\"a\":0,"
		 "\"a\":0,\"a\":0}]");
}

static void test_json_rows(void **state)
{
	const char *const tables[TABLES_MAX] = {
		" \n{\"hosts\": [ {\"host\" : \"a\\u00e9\\ud83d\\ude00\\\"\", \"rack\": 7 ,"
		"\"instance\":null,"
		"\"addresses\":[\"10.0.0.1\", \"10.1.0.0/16\"]}],\r\n\"links\":[]}\n",
		"[]", "{}",
	};
	struct topology *t = good(tables);
	struct fleet_address address;

	(void)state;
	assert_string_equal(topology_host(t, "a\xc3\xa9\xf0\x9f\x98\x80\"").rack, "7");
	assert_null(topology_host(t, "a\xc3\xa9\xf0\x9f\x98\x80\"").instance);
	assert_int_equal(addresses_parse("10.1.2.3", &address), 0);
	assert_string_equal(topology_host_of(t, &address), "a\xc3\xa9\xf0\x9f\x98\x80\"");
	topology_free(t);
}

/* Adds "rack r1, link l1 ...", in order of kind and name, of a connection between two hosts. */
static int order(const void *x, const void *y)
{
	const struct topology_share *a = x, *b = y;

	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

static void path_is(const struct topology *t, const char *from, const char *to, const char *said)
{
	struct strbuf text = STRBUF_INIT(4096);
	struct topology_path path;

	topology_path(t, from, to, &path);
	qsort(path.shares, path.n, sizeof(path.shares[0]), order);
	for (uint32_t i = 0; i < path.n; i++)
		strbuf_printf(&text, "%s%s %s", i ? ", " : "", fleet_kind_name(path.shares[i].kind),
			      path.shares[i].name);
	assert_string_equal(strbuf_str(&text), said);
	assert_false(path.beyond);
	strbuf_release(&text);
}

static void test_paths(void **state)
{
	static const char *const tables[TABLES_MAX] = {
		"rack,host\nr1,a\nr1,b\nr2,c\nr3,d\n,e\n",
		"rack,switch\nr1,tor1\nr2,tor2\nr3,tor3\ntor1,spine1\ntor1,spine2\ntor2,spine1\n"
		"tor2,spine2\ntor3,spine3\nspine1,core\nspine2,core\nspine3,core\n",
		"from,to,link\nr1,r2,wave\nspine1,tor1,up1\ntor1,spine2,up2\nspine1,core,up3\n"
		"a,r1,port-a\nr1,r2,wave-2\n",
	};
	struct topology *t = good(tables);

	(void)state;
	path_is(t, "a", "b", "rack r1, switch tor1, link port-a");
	path_is(t, "b", "c", "rack r1, rack r2, switch spine1, switch spine2, switch tor1, "
			     "switch tor2, link up1, link up2, link wave, link wave-2");
	path_is(t, "c", "a", "rack r1, rack r2, switch spine1, switch spine2, switch tor1, "
			     "switch tor2, link port-a, link up1, link up2, link wave, "
			     "link wave-2");
	path_is(t, "b", "d", "rack r1, rack r3, switch core, switch spine1, switch spine2, "
			     "switch spine3, switch tor1, switch tor3, link up1, link up2, "
			     "link up3");
	path_is(t, "b", NULL, "rack r1, switch core, switch spine1, switch spine2, switch tor1, "
			      "link up1, link up2, link up3");
	path_is(t, "b", "b", "");
	path_is(t, "e", "f", "");
	path_is(t, "e", "b", "rack r1, switch core, switch spine1, switch spine2, switch tor1, "
			     "link up1, link up2, link up3");
	topology_free(t);
}

static void test_beyond(void **state)
{
	static const char *const names = "0123456789abcdefghijklmnopqrstuvwxyzABCDEF";
	struct strbuf rows = STRBUF_INIT(4096);
	const char *tables[TABLES_MAX] = { "host,rack\nweb,rack\n" };
	struct topology_path path;
	struct topology *t;

	(void)state;
	strbuf_puts(&rows, "rack,switch\n");
	for (size_t i = 0; names[i]; i++)
		strbuf_printf(&rows, "rack,%c\n", names[i]);
	tables[1] = strbuf_str(&rows);
	t = good(tables);
	topology_path(t, "web", NULL, &path);
	assert_int_equal(path.n, FLEET_SHARES_MAX);
	assert_true(path.beyond);
	topology_free(t);
	strbuf_release(&rows);
}

static const char *host_at(const struct topology *t, const char *text)
{
	struct fleet_address address;

	assert_int_equal(addresses_parse(text, &address), 0);
	return topology_host_of(t, &address);
}

static void test_addresses(void **state)
{
	static const char *const tables[TABLES_MAX] = {
		HOSTS "a,r,m5.large,\"10.1.0.0/16 fd00::/64\"\nb,,,10.1.2.3 10.2.0.0/15\n"
		"c,,,0.0.0.0/0\n",
	};
	struct topology *t = good(tables);

	(void)state;
	assert_string_equal(host_at(t, "10.1.2.4"), "a");
	assert_string_equal(host_at(t, "10.1.2.3"), "b");
	assert_string_equal(host_at(t, "10.3.255.255"), "b");
	assert_string_equal(host_at(t, "10.4.0.0"), "c");
	assert_string_equal(host_at(t, "fd00::1"), "a");
	assert_null(host_at(t, "fd00:0:0:1::1"));
	assert_string_equal(topology_host(t, "a").rack, "r");
	assert_string_equal(topology_host(t, "a").instance, "m5.large");
	assert_true(topology_host(t, "b").known);
	assert_null(topology_host(t, "b").rack);
	assert_false(topology_host(t, "r").known);
	topology_free(t);
}

static void test_shared_addresses(void **state)
{
	struct fleet_address bridge, own;
	struct fleet_addresses a;
	uint32_t other;

	(void)state;
	addresses_init(&a);
	assert_int_equal(addresses_parse("172.17.0.1", &bridge), 0);
	assert_int_equal(addresses_parse("172.17.0.2", &own), 0);
	assert_int_equal(addresses_add(&a, &bridge, 0, true, &other), 0);
	assert_int_equal(addresses_add(&a, &own, 0, true, &other), 0);
	assert_int_equal(addresses_add(&a, &own, 0, true, &other), 0);
	assert_int_equal(addresses_find(&a, &bridge), 0);
	assert_int_equal(addresses_add(&a, &bridge, 1, true, &other), -EEXIST);
	assert_int_equal(addresses_add(&a, &bridge, 0, true, &other), -EEXIST);
	assert_int_equal(addresses_find(&a, &bridge), ADDRESSES_NONE);
	assert_int_equal(addresses_find(&a, &own), 0);
	assert_int_equal(a.shared, 1);
	addresses_release(&a);
}

/* ---- applications ---- */

static int apps_of(struct apps *a, const char *table, struct strbuf *why)
{
	char *text = strdup(table);
	int err;

	assert_non_null(text);
	err = apps_read(a, "apps", text, strlen(text), why);
	free(text);
	return err;
}

static void bad_apps(const char *said, const char *table)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct apps *a = apps_new();

	assert_non_null(a);
	assert_int_equal(apps_of(a, table, &why), -EINVAL);
	if (!strstr(strbuf_str(&why), said)) {
		print_error("'%s' instead of '%s'\n", strbuf_str(&why), said);
		fail();
	}
	strbuf_release(&why);
	apps_free(a);
}

static void test_bad_apps(void **state)
{
	(void)state;
	bad_apps("apps:1:1: the file is empty", "");
	bad_apps("apps:1:1: these columns make no table", "application\n");
	bad_apps("apps:1:1: these columns make no table", "unit,port\n");
	bad_apps("apps:1:13: unknown column 'units'", "application,units\n");
	bad_apps("apps:1:18: column 'unit' is given twice", "application,unit,unit\n");
	bad_apps("apps:2:1: the application is missing", "application,unit\n,x\n");
	bad_apps("apps:2:3: the port is no port", "application,port\nx,0\n");
	bad_apps("apps:2:3: the port is no port", "application,port\nx,65536\n");
	bad_apps("apps:2:1: fields: 1, but 2 in the header", "application,port\nx\n");
	bad_apps("apps:2:3: the command has a control character", "application,command\nx,\x07\n");
}

static void test_apps_of_json(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct apps *a = apps_new();

	(void)state;
	bad_apps("apps:1:2: these columns make no table", "[{\"application\":\"x\"}]");
	bad_apps("apps:1:29: the port is no port", "[{\"application\":\"x\",\"port\": 1.5}]");
	bad_apps("apps:1:28: a list in place of a text",
		 "[{\"application\":\"x\",\"unit\":[\"a\"]}]");
	bad_apps("apps:1:2: a list of an unknown name", "{\"hosts\":[]}");
	assert_non_null(a);
	assert_int_equal(apps_of(a, "{\"applications\":[{\"application\":\"web\","
				 "\"command\":\"ngin?\"},"
				 "{\"port\":5432,\"application\":\"db\"}]}", &why), 0);
	assert_string_equal(apps_find(a, &(struct apps_subject){
		.text = { [APPS_COMMAND] = "nginx" }, .port = 5432 }), "web");
	assert_string_equal(apps_find(a, &(struct apps_subject){ .port = 5432 }), "db");
	apps_free(a);
	strbuf_release(&why);
}

static const char *app(const struct apps *a, const char *unit, const char *command, uint16_t port)
{
	return apps_find(a, &(struct apps_subject){
		.text = { [APPS_UNIT] = unit, [APPS_COMMAND] = command }, .port = port });
}

static void test_first_row_wins(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	struct apps *a = apps_new();
	char longest[4096];

	(void)state;
	assert_non_null(a);
	assert_int_equal(apps_of(a, "unit,command,port,application\nweb*,,,front\n"
				 ",ngin?,443,tls\n,nginx,,plain\n*x*y*x*y*x*y*x*y*z,,,never\n"
				 ",,5432,db\n", &why), 0);
	assert_string_equal(app(a, "web1", "nginx", 443), "front");
	assert_string_equal(app(a, NULL, "nginx", 443), "tls");
	assert_string_equal(app(a, "other", "ngin\xc3\xa9", 443), "tls");
	assert_string_equal(app(a, "other", "nginx", 80), "plain");
	assert_string_equal(app(a, NULL, NULL, 5432), "db");
	assert_null(app(a, "other", "nginxx", 80));
	memset(longest, 'x', sizeof(longest));
	for (size_t i = 0; i < sizeof(longest); i += 2)
		longest[i] = 'y';
	longest[sizeof(longest) - 1] = '\0';
	assert_null(app(a, longest, NULL, 1));
	apps_free(a);
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv_fields),
		cmocka_unit_test(test_bad_tables),
		cmocka_unit_test(test_bad_json_rows),
		cmocka_unit_test(test_bad_json),
		cmocka_unit_test(test_json_rows),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_shared_addresses),
		cmocka_unit_test(test_bad_apps),
		cmocka_unit_test(test_apps_of_json),
		cmocka_unit_test(test_first_row_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
