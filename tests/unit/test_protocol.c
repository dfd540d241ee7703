/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies as servers send them, and as they should not, through every parser in every split. What a
 * row expects is a letter per reply: O ok, M miss, E error, small if the server will close; then
 * '.' if something began and didn't end, '!' for a garbled stream. "$" before it: the peer closes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"

#define RESULTS_MAX 64

struct row {
	const char *scheme;
	uint16_t type;
	const char *expected;
	const char *data;
	size_t size;
};

#define ROW(scheme, type, expected, text) { scheme, type, expected, text, sizeof(text) - 1 }
#define GET_ROW(expected, text) ROW("memcached", OPERATION_GET, expected, text)
#define SET_ROW(expected, text) ROW("memcached", OPERATION_SET, expected, text)
#define DELETE_ROW(expected, text) ROW("memcached", OPERATION_DELETE, expected, text)
#define DEL_ROW(expected, text) ROW("redis", OPERATION_DELETE, expected, text)
#define RGET_ROW(expected, text) ROW("redis", OPERATION_GET, expected, text)
#define RSET_ROW(expected, text) ROW("redis", OPERATION_SET, expected, text)
#define ANY_ROW(expected, text) ROW("redis", OPERATION_COMMAND, expected, text)
#define HTTP_ROW(expected, text) ROW("http", OPERATION_GET, expected, text)
#define HEAD_ROW(expected, text) ROW("http", OPERATION_HEAD, expected, text)

#define KEY250                                                                                     \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"                                       \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"                                       \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"                                       \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"                                       \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

static const struct row rows[] = {
	GET_ROW("", ""),
	GET_ROW("M", "END\r\n"),
	GET_ROW("O", "VALUE k 0 3\r\nabc\r\nEND\r\n"),
	GET_ROW("O", "VALUE k 0 0\r\n\r\nEND\r\n"),
	GET_ROW("O", "VALUE k 4294967295 1 18446744073709551615\r\nx\r\nEND\r\n"),
	GET_ROW("O", "VALUE " KEY250 " 0 1\r\nx\r\nEND\r\n"),
	GET_ROW("!", "VALUE " KEY250 "k 0 1\r\nx\r\nEND\r\n"),
	GET_ROW("OMO", "VALUE k 0 9\r\n\r\nEND\r\n\0\n\r\nEND\r\nEND\r\n"
			"VALUE k 0 1\r\n\n\r\nEND\r\n"),
	GET_ROW("E", "ERROR\r\n"),
	GET_ROW("EM", "SERVER_ERROR out of memory writing get response\r\nEND\r\n"),
	GET_ROW("E", "VALUE k 0 1\r\nx\r\nSERVER_ERROR out of memory\r\n"),
	GET_ROW("EE", "CLIENT_ERROR bad command line format\r\nERROR\r\n"),
	GET_ROW(".", "VALUE k 0 3\r\nabc\r\nEND\r"),
	GET_ROW(".", "VALUE k 0 30000\r\nabc"),
	GET_ROW("!", "VALUE k 0 3\r\nabcd\r\nEND\r\n"),
	GET_ROW("!", "VALUE k 0 3\r\nab\r\nEND\r\n"),
	GET_ROW("!", "VALUE k 0 3\nabc\r\nEND\r\n"),
	GET_ROW("!", "VALUE k 0 -3\r\nabc\r\nEND\r\n"),
	GET_ROW("!", "VALUE k 0 99999999999999999999999\r\n"),
	GET_ROW("!", "VALUE k 0 1073741825\r\n"),
	GET_ROW("!", "VALUE k 0\r\n"),
	GET_ROW("!", "VALUE k  3\r\nabc\r\nEND\r\n"),
	GET_ROW("!", "VALUE\r\n"),
	GET_ROW("!", "VALUE k\n0 3\r\n"),
	GET_ROW("!", "VALUE k 0 1\r\nx\r\nVALUE k 0 1\r\nx\r\nEND\r\n"),
	GET_ROW("!", "END \r\n"),
	GET_ROW("!", "END\n"),
	GET_ROW("!", "STORED\r\n"),
	GET_ROW("!", "\r\n"),
	GET_ROW("!", "HTTP/1.1 400 Bad Request\r\n"),
	GET_ROW("!", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
	GET_ROW("!", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	SET_ROW("OO", "STORED\r\nSTORED\r\n"),
	SET_ROW("E", "NOT_STORED\r\n"),
	SET_ROW("EO", "SERVER_ERROR object too large for cache\r\nSTORED\r\n"),
	SET_ROW("!", "END\r\n"),
	SET_ROW("!", "EXISTS\r\n"),
	SET_ROW("!", "DELETED\r\n"),
	DELETE_ROW("OMO", "DELETED\r\nNOT_FOUND\r\nDELETED\r\n"),
	DELETE_ROW("EM", "SERVER_ERROR no\r\nNOT_FOUND\r\n"),
	DELETE_ROW(".", "DELETED\r"),
	DELETE_ROW("!", "STORED\r\n"),
	DELETE_ROW("!", "END\r\n"),
	DELETE_ROW("!", "VALUE k 0 1\r\nx\r\nEND\r\n"),
	GET_ROW("!", "NOT_FOUND\r\n"),
	GET_ROW("!", "VALUE k 0 1\r\nx\r\nDELETED\r\n"),

	RGET_ROW("O", "$3\r\nabc\r\n"),
	RGET_ROW("OO", "$0\r\n\r\n$6\r\n$3\r\n\0\n\r\n"),
	RGET_ROW("MM", "$-1\r\n_\r\n"),
	RGET_ROW("EO", "-WRONGTYPE Operation against a key\r\n$1\r\n\r\r\n"),
	RGET_ROW("E", "-MOVED 3999 127.0.0.1:6381\r\n"),
	RGET_ROW(".", "$3\r\nabc\r"),
	RGET_ROW("!", "$3\r\nabcd\r\n"),
	RGET_ROW("!", "$-2\r\n"),
	RGET_ROW("!", "$-\r\n"),
	RGET_ROW("!", "$\r\n"),
	RGET_ROW("!", "$3-\r\n"),
	RGET_ROW("!", "$99999999999999999999999\r\n"),
	RGET_ROW("!", "$1073741825\r\n"),
	RGET_ROW("!", "$1\rx"),
	RGET_ROW("!", "+OK\r\n"),
	RGET_ROW("!", "*1\r\n$1\r\nx\r\n"),
	RGET_ROW("!", "-ERR a lonely newline\n"),
	RSET_ROW("OO", "+OK\r\n+OK\r\n"),
	RSET_ROW("E", "-OOM command not allowed when used memory > 'maxmemory'.\r\n"),
	RSET_ROW("E", "-A\rB\r\n"),
	RSET_ROW("!", "+OK\n"),
	RSET_ROW("!", "+\n"),
	RSET_ROW("!", "$3\r\nabc\r\n"),
	RSET_ROW("!", "\0"),
	RSET_ROW("!", ":1\r\n"),
	RGET_ROW("!", ":1\r\n"),
	DEL_ROW("OMO", ":1\r\n:0\r\n:12\r\n"),
	DEL_ROW("EO", "-MOVED 3999 127.0.0.1:6381\r\n:1\r\n"),
	DEL_ROW(".", ":1\r"),
	DEL_ROW("!", ":-1\r\n"),
	DEL_ROW("!", ":\r\n"),
	DEL_ROW("!", ":1x\r\n"),
	DEL_ROW("!", "+OK\r\n"),
	DEL_ROW("!", "$1\r\nx\r\n"),

	RGET_ROW("EO", "!21\r\nSYNTAX invalid syntax\r\n$1\r\nx\r\n"),
	RGET_ROW("O", "|1\r\n+ttl\r\n:3600\r\n$1\r\nx\r\n"),
	RGET_ROW("OM", ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n$1\r\nx\r\n"
		       ">1\r\n-x\r\n|0\r\n_\r\n"),
	RGET_ROW("", ">2\r\n+a\r\n_\r\n>0\r\n"),
	RGET_ROW("!", ">1\r\n>0\r\n"),
	RGET_ROW("!", ">-1\r\n"),
	RGET_ROW("!", "|1\r\n+a\r\n+b\r\n*0\r\n"),

	ANY_ROW("OOOOOO", "+OK\r\n:-3\r\n:9223372036854775807\r\n:0\r\n"
			  ":-9223372036854775808\r\n$2\r\n\r\n\r\n"),
	ANY_ROW("MMM", "$-1\r\n*-1\r\n_\r\n"),
	ANY_ROW("EE", "-NOPERM this user has no permissions\r\n!3\r\nERR\r\n"),
	ANY_ROW("OO", "*0\r\n*2\r\n*2\r\n$-1\r\n*0\r\n$1\r\nx\r\n"),
	ANY_ROW("OO", "*2\r\n-ERR within\r\n_\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"),
	ANY_ROW("OOO", "%2\r\n+a\r\n#t\r\n+b\r\n%1\r\n:1\r\n,1.5e300\r\n%0\r\n"
		       "~3\r\n(3492890328409238509324850943850943825024385\r\n,inf\r\n#f\r\n"),
	ANY_ROW("O", "=15\r\ntxt:Some string\r\n"),
	ANY_ROW("O", "*2\r\n|1\r\n+key\r\n*1\r\n:1\r\n:2\r\n|0\r\n:3\r\n"),
	ANY_ROW("O", "|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n+d\r\n*1\r\n:1\r\n"),
	ANY_ROW(".", "%1\r\n+a\r\n"),
	ANY_ROW(".", "*3\r\n:1\r\n|1\r\n:1\r\n:1\r\n:1\r\n"),
	ANY_ROW("!", "*1\r\n>0\r\n"),
	ANY_ROW("!", "*-2\r\n"),
	ANY_ROW("!", "%-1\r\n"),
	ANY_ROW("!", "~-1\r\n"),
	ANY_ROW("!", "=-1\r\n"),
	ANY_ROW("!", "$?\r\n"),
	ANY_ROW("!", "*1073741825\r\n"),
	ANY_ROW("!", ":\r\n"),
	ANY_ROW("!", ":-\r\n"),
	ANY_ROW("!", ":1.5\r\n"),
	ANY_ROW("!", ":-92233720368547758080\r\n"),
	ANY_ROW("!", "*1\r\n\0\r\n"),
	ANY_ROW("!", "HTTP/1.1 400 Bad Request\r\n"),

	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nContent-Length:3\r\n\r\n\r\n\r"),
	HTTP_ROW("O", "HTTP/1.1 200\r\ncontent-length:  0  \r\n\r\n"),
	HTTP_ROW("OO", "HTTP/1.1 200 \nCONTENT-LENGTH: 1\n\nxHTTP/1.1 201 A\r\n"
		       "Content-Length: 0\r\n\r\n"),
	HTTP_ROW("MEEMM", "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\n4"
			 "HTTP/1.1 503 Busy\r\nContent-Length: 1\r\n\r\n5"
			 "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"
			 "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"
			 "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"),
	HTTP_ROW("O", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n"
		      "Content-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
	HTTP_ROW("OM", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"
		       "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"),
	HTTP_ROW("o", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"),
	HTTP_ROW("o", "HTTP/1.1 200 OK\r\nConnection: upgrade , Close\r\nContent-Length: 0\r\n"
		      "\r\n"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nConnection: closed, keep-alive\r\nContent-Length: 0\r\n"
		      "\r\n"),
	HTTP_ROW("o", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
	HTTP_ROW("O", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		      "3\r\nabc\r\nA;ext=\"x\r\n0123456789\r\n0\r\n\r\n"),
	HTTP_ROW("OO", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"
		       "0000a \r\n0123456789\r\n00;q\r\nTrailer: x\r\nContent-Length: 9\r\n\r\n"
		       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
	HTTP_ROW("o", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n"
		      "0\r\n\r\n"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\nContent-Length: 1\r\n\r\nx"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nxx"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nContent-Lengthy: 9\r\nContent-Length: 2\r\n"
		      "Transfer-Encodings: chunked\r\nX-Content-Length: 5\r\nTe: chunked\r\n"
		      "\r\nxx"),
	HTTP_ROW("$o", "HTTP/1.1 200 OK\r\n\r\nanything HTTP/1.1 200 OK\r\n\r\n"),
	HTTP_ROW("$o", "HTTP/1.1 200 OK\r\n\r\n"),
	HTTP_ROW("$o", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nxyz"),
	HTTP_ROW("$.", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx"),
	HTTP_ROW("$.", "HTTP/1.1 200 OK\r\n"),
	HTTP_ROW("$", ""),
	HTTP_ROW(".", "HTTP/1.1 200 OK\r\n\r\nx"),
	HTTP_ROW(".", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nX-Note: a\r\n b\r\nContent-Length:\r\n\t1\r\n\r\nx"),
	HTTP_ROW("o", "HTTP/1.1 200 OK\r\nConnection: keep-alive,\r\n  close\r\n"
		      "Content-Length: 1 \n \n\r\nx"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n"
		      "1\r\nx\r\n0\r\n\r\n"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\n folded\r\nContent-Length: 1\r\n\r\nx"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n"),
	HTTP_ROW("O", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Identity\r\n"
		      "Content-Length: 1\r\n\r\nx"),
	HTTP_ROW("!", "HTTP/1.1 101 Switching Protocols\r\n\r\n"),
	HTTP_ROW("MM", "HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 2\r\n\r\nxx"
		       "HTTP/1.1 307 T\r\nLocation:\r\nContent-Length: 0\r\n\r\n"),
	HEAD_ROW("OOM", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			"HTTP/1.1 404 Not Found\r\n\r\n"),
	HEAD_ROW("OE", "HTTP/1.1 103 Early Hints\r\n\r\n"
		       "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
		       "HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\n"),
	HEAD_ROW("o", "HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\n"),
	HEAD_ROW("O!", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
	HTTP_ROW("!", "HTTP/2.0 200 OK\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 2000 OK\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 020 OK\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 20 OK\r\n\r\n"),
	HTTP_ROW("!", "http/1.1 200 OK\r\n\r\n"),
	HTTP_ROW("!", "VALUE k 0 3\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n folded\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nConnection: \0close\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffff\r\n"),
	HTTP_ROW("!", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"),

	ROW("memcached-binary", 0, "OMO",
	    "\x81\0\0\0\4\0\0\0\0\0\0\7\0\0\0\1\0\0\0\0\0\0\0\0flagabc"
	    "\x81\0\0\0\0\0\0\1\0\0\0\x9\0\0\0\2\0\0\0\0\0\0\0\0Not found"
	    "\x81\1\0\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0"),
	ROW("memcached-binary", OPERATION_DELETE, "OM",
	    "\x81\4\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0"
	    "\x81\4\0\0\0\0\0\1\0\0\0\x9\0\0\0\2\0\0\0\0\0\0\0\0Not found"),
	ROW("memcached-binary", 0, "E",
	    "\x81\1\0\0\0\0\0\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0"),
	ROW("memcached-binary", 0, "!",
	    "\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	ROW("memcached-binary", 0, "!",
	    "\x81\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	ROW("memcached-binary", 0, "!",
	    "\x81\0\0\4\4\0\0\0\0\0\0\7\0\0\0\1\0\0\0\0\0\0\0\0"),
	ROW("memcached-binary", 0, "!",
	    "\x81\0\0\0\4\0\0\0\xff\xff\xff\xff\0\0\0\1\0\0\0\0\0\0\0\0"),

	ROW("echo", 0, "OO", "HE\1\0\0\0\0\7\0\0\0\x0f" "abc" "HE\1\0\0\0\0\7\0\0\0\x0c"),
	ROW("echo", 0, ".", "HE\1\0\0\0\0\7\0\0\0\x0f" "ab"),
	ROW("echo", 0, "!", "HE\2\0\0\0\0\7\0\0\0\x0f"),
	ROW("echo", 0, "!", "HE\1\0\0\0\0\7\0\0\0\x0b"),
	ROW("echo", 0, "!", "HE\1\0\0\0\0\7\xff\0\0\0"),
	ROW("echo", 0, "!", "HR\1\0\0\0\0\7\0\0\0\x0c"),
	ROW("synthetic", 0, "OE",
	    "HR\1\0\0\0\0\7\0\0\0\x29\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\5x"
	    "HR\1\1\0\0\0\7\0\0\0\x28\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0"),
	ROW("synthetic", 0, "!", /* it left before it came */
	    "HR\1\0\0\0\0\7\0\0\0\x28\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0"),
	ROW("synthetic", 0, "!",
	    "HR\1\0\0\0\0\7\0\0\0\x27\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0"),
	ROW("synthetic", 0, "!",
	    "HR\1\2\0\0\0\7\0\0\0\x28\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0"),
};

/* ---- In every split ---- */

struct run {
	const struct row *row;
	struct reply_parser parser;
	char results[RESULTS_MAX];
	size_t len;
	bool garbled;
};

static void note(struct run *r, char result)
{
	assert_true(r->len + 1 < sizeof(r->results));
	r->results[r->len++] = result;
	r->results[r->len] = '\0';
}

static void note_reply(struct run *r, const struct reply *reply)
{
	note(r, (reply->close ? "ome" : "OME")[reply->status]);
}

/* One read's bytes, in memory of just that size, so that a sanitizer sees what is read beyond. */
static void feed(struct run *r, size_t from, size_t size)
{
	const struct protocol *p = protocol_find(r->row->scheme);
	char *bytes = malloc(size ? size : 1), *at = bytes;
	size_t left = size, used;
	struct reply reply;

	assert_non_null(bytes);
	memcpy(bytes, r->row->data + from, size);
	while (left && !r->garbled) {
		int got = p->parse(&r->parser, r->row->type, at, left, &used, &reply);

		assert_true(used <= left);
		at += used;
		left -= used;
		if (got == 1)
			note_reply(r, &reply);
		else if (got == 0)
			assert_int_equal(left, 0);
		else
			assert_int_equal(got, -EPROTO);
		r->garbled = got < 0;
	}
	free(bytes);
}

static void end(struct run *r)
{
	const struct protocol *p = protocol_find(r->row->scheme);
	static const struct reply_parser fresh;
	struct reply reply;
	size_t used = 1;

	if (r->row->expected[0] == '$' && !r->garbled) {
		if (p->parse(&r->parser, r->row->type, NULL, 0, &used, &reply) == 1)
			note_reply(r, &reply);
		assert_int_equal(used, 0);
	}
	if (r->garbled)
		note(r, '!');
	else if (r->len == 0 && memcmp(&r->parser, &fresh, sizeof(fresh)) != 0)
		note(r, '.');
	if (strcmp(r->results, r->row->expected + (r->row->expected[0] == '$')) != 0)
		fail_msg("%s '%.60s': expected %s, got %s", r->row->scheme, r->row->data,
			 r->row->expected, r->results);
}

static void test_every_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t size = rows[i].size;

		for (size_t a = 0; a <= size; a++) {
			for (size_t b = a; b <= size; b += size > 100 ? 7 : 1) {
				struct run r = { .row = &rows[i] };

				feed(&r, 0, a);
				feed(&r, a, b - a);
				feed(&r, b, size - b);
				end(&r);
			}
		}
	}
}

static void test_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run r = { .row = &rows[i] };

		for (size_t at = 0; at < rows[i].size; at++)
			feed(&r, at, 1);
		end(&r);
	}
}

/* ---- Large values, of any bytes, in reads of any size ---- */

static void test_large_value(void **state)
{
	static const char *const schemes[] = { "memcached", "redis", "http" };
	static const char *const heads[] = { "VALUE key 0 %zu\r\n", "$%zu\r\n",
					     "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n" };
	static const char *const tails[] = { "\r\nEND\r\n", "\r\n", "" };
	const size_t value = 10 << 20;
	char *data = malloc(value + 200);
	struct rng rng;

	(void)state;
	assert_non_null(data);
	rng_init(&rng, 17);
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		struct row row = { .scheme = schemes[i], .expected = "OO", .data = data };
		size_t head = (size_t)snprintf(data, 100, heads[i], value);
		struct run r = { .row = &row };

		for (size_t at = head; at < head + value; at += 8)
			memcpy(data + at, at % 3 ? "\r\nEND\r\n\0" : "\r\n$3\r\n0\r", 8);
		memcpy(data + head + value, tails[i], strlen(tails[i]) + 1);
		row.size = head + value + strlen(tails[i]);
		for (int twice = 0; twice < 2; twice++) {
			for (size_t at = 0, n; at < row.size; at += n) {
				n = 1 + rng_below(&rng, 200000);
				n = n < row.size - at ? n : row.size - at;
				feed(&r, at, n);
			}
		}
		end(&r);
	}
	free(data);
}

/* ---- Replies without an end ---- */

static void test_endless(void **state)
{
	static const struct {
		const char *scheme, *start;
		char then;
	} endless[] = {
		{ "memcached", "SERVER_ERROR ", 'x' },
		{ "memcached", "VALUE ", 'k' },
		{ "memcached", "VALUE k ", '0' },
		{ "redis", "-", 'x' },
		{ "redis", "$", '0' },
		{ "redis", ">1\r\n+", 'x' },
		{ "http", "HTTP/1.1 200 ", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nX: ", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nConnection: ", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nConnection: ", ' ' },
		{ "http", "HTTP/1.1 200 OK\r\nContent-Length: ", '0' },
		{ "http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", '0' },
		{ "http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", 'x' },
		{ "http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT:", 'x' },
	};
	char data[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(endless); i++) {
		struct row row = { .scheme = endless[i].scheme, .data = endless[i].start,
				   .size = strlen(endless[i].start) };
		struct run r = { .row = &row };

		feed(&r, 0, row.size);
		memset(data, endless[i].then, sizeof(data));
		row.data = data;
		for (int n = 0; n < 20 && !r.garbled; n++)
			feed(&r, 0, sizeof(data));
		if (!r.garbled)
			fail_msg("%s %s... goes on", endless[i].scheme, endless[i].start);
	}
}

/* As many short lines as one likes don't hold either. */
static void test_endless_lines(void **state)
{
	static const char *const lines[] = { "X: y\r\n", "HTTP/1.1 100 Continue\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct row row = { .scheme = "http",
					 .data = "HTTP/1.1 100 A\r\n",
					 .size = 16 };
		struct run r = { .row = &row };

		if (i == 0)
			feed(&r, 0, row.size);
		row.data = lines[i];
		row.size = strlen(lines[i]);
		for (int n = 0; n < 70000 && !r.garbled; n++)
			feed(&r, 0, row.size);
		assert_true(r.garbled);
	}
}

/* ---- Chunked replies made at random, against what they were made of ---- */

static size_t put(char *data, size_t at, const char *text)
{
	memcpy(data + at, text, strlen(text));
	return at + strlen(text);
}

/* Appends one reply. */
static size_t make_chunked(char *data, size_t at, struct rng *rng)
{
	static const char *const codings[] = { "chunked", "Chunked", "gzip,chunked",
					       ", gzip ,\tCHUNKED ," };
	static const char *const extensions[] = { "", "", ";a=b", " ; x=\"0\r", "\t" };
	static const char *const trailers[] = { "", "", "T: 5\r\n", "Content-Length: 3\r\nX:\r\n" };
	size_t chunks = rng_below(rng, 6);
	char line[64];

	at = put(data, at, "HTTP/1.1 200 OK\r\nServer: c\r\ntransfer-ENCODING: ");
	at = put(data, at, codings[rng_below(rng, ARRAY_LEN(codings))]);
	at = put(data, at, "\r\nCookie: t\r\n\r\n");
	for (size_t i = 0; i < chunks; i++) {
		size_t size = 1 + rng_below(rng, i % 2 ? 300 : 9);

		snprintf(line, sizeof(line), rng_below(rng, 2) ? "%zx" : "00%zX", size);
		at = put(data, at, line);
		at = put(data, at, extensions[rng_below(rng, ARRAY_LEN(extensions))]);
		at = put(data, at, "\r\n");
		for (size_t j = 0; j < size; j++)
			data[at++] = "\r\n0aH;\0 "[rng_below(rng, 8)];
		at = put(data, at, "\r\n");
	}
	at = put(data, at, rng_below(rng, 2) ? "0\r\n" : "000;x\r\n");
	at = put(data, at, trailers[rng_below(rng, ARRAY_LEN(trailers))]);
	return put(data, at, "\r\n");
}

static void test_chunked(void **state)
{
	static char data[16384];
	struct rng rng;

	(void)state;
	rng_init(&rng, 23);
	for (int round = 0; round < 3000; round++) {
		struct row row = { .scheme = "http", .expected = "OOO", .data = data };
		struct run r = { .row = &row };
		size_t ends[3];

		for (int i = 0; i < 3; i++)
			row.size = ends[i] = make_chunked(data, row.size, &rng);
		for (size_t at = 0, n; at < row.size; at += n) {
			size_t complete = 0;

			n = 1 + rng_below(&rng, round % 2 ? 5 : 500);
			n = n < row.size - at ? n : row.size - at;
			feed(&r, at, n);
			/* Not a byte early, not a byte late. */
			while (complete < 3 && ends[complete] <= at + n)
				complete++;
			assert_int_equal(r.len, complete);
		}
		end(&r);
	}
}

/* ---- Garbage: always an end, never a reply out of nothing but by the rules ---- */

static void test_garbage(void **state)
{
	static char data[512];
	struct rng rng;

	(void)state;
	rng_init(&rng, 29);
	for (const struct protocol *p = protocols; p->name; p++) {
		int garbled = 0;

		for (int round = 0; round < 2000; round++) {
			struct row row = { .scheme = p->name,
						 .data = data,
						 .size = sizeof(data) };
			struct run r = { .row = &row };

			for (size_t i = 0; i < sizeof(data); i++)
				data[i] = (char)rng_u64(&rng);
			feed(&r, 0, rng_below(&rng, 100));
			feed(&r, 0, sizeof(data));
			garbled += r.garbled;
		}
		assert_true(garbled > 1990 || p->datagram);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_large_value),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_endless_lines),
		cmocka_unit_test(test_chunked),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
