/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies as servers send them, and as they should not, for every parser. What a row expects is a
 * letter per reply: O ok, M miss, E error, small if the server will close; then '.' if something
 * began and didn't end, '!' for a garbled stream. "$" before it: the peer closes.
 */
#ifndef HOSTLAT_TESTS_REPLIES_H
#define HOSTLAT_TESTS_REPLIES_H

#include <stddef.h>
#include <stdint.h>

#include "load/operation.h"

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
#define META_ROW(type, expected, text) ROW("memcached-meta", type, expected, text)
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
	ROW("memcached", OPERATION_GETS, "OM", "VALUE 7 0 1 18446744073709551615\r\nx\r\nEND\r\n"
	    "END\r\n"),
	ROW("memcached", OPERATION_GETS, "!", "STORED\r\n"),
	ROW("memcached", OPERATION_CAS, "OMME", "STORED\r\nEXISTS\r\nNOT_FOUND\r\nERROR\r\n"),
	ROW("memcached", OPERATION_CAS, "!", "NOT_STORED\r\n"),
	SET_ROW("!", "EXISTS\r\n"),
	ROW("memcached", OPERATION_COMMAND, "OMMOO", "STORED\r\nNOT_STORED\r\nNOT_FOUND\r\n0\r\n"
	    "18446744073709551615\r\n"),
	ROW("memcached", OPERATION_COMMAND, "!", "184467440737095516150\r\n"),
	ROW("memcached", OPERATION_COMMAND, "!", "7x\r\n"),
	ROW("memcached", OPERATION_COMMAND, "E", "CLIENT_ERROR cannot increment\r\n"),
	GET_ROW("!", "7\r\n"),
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

	META_ROW(OPERATION_GET, "OMO", "VA 3\r\nabc\r\nEN\r\nVA 5 t-1 f0 c7\r\n\r\n\r\nE\r\n"),
	META_ROW(OPERATION_GET, "OM", "VA 0\r\n\r\nEN W Z\r\n"),
	META_ROW(OPERATION_GET, "EM", "CLIENT_ERROR bad command line format\r\nEN\r\n"),
	META_ROW(OPERATION_GET, "E", "ERROR\r\n"),
	META_ROW(OPERATION_GET, ".", "VA 3\r\nabc\r"),
	META_ROW(OPERATION_GET, "!", "VA 3\r\nabcd\r\n"),
	META_ROW(OPERATION_GET, "!", "VA\r\n"),
	META_ROW(OPERATION_GET, "!", "VA \r\n"),
	META_ROW(OPERATION_GET, "!", "VA x\r\n"),
	META_ROW(OPERATION_GET, "!", "VA 3x\r\n"),
	META_ROW(OPERATION_GET, "!", "VA 3 f0\n"),
	META_ROW(OPERATION_GET, "!", "VA 1073741825\r\n"),
	META_ROW(OPERATION_GET, "!", "HD\r\n"),
	META_ROW(OPERATION_GET, "!", "END\r\n"),
	META_ROW(OPERATION_GET, "!", "EN\n"),
	META_ROW(OPERATION_SET, "OOEO", "HD\r\nHD b c1\r\nNS\r\nHD\r\n"),
	META_ROW(OPERATION_SET, "O", "STORED\r\n"),
	META_ROW(OPERATION_SET, "E", "SERVER_ERROR object too large for cache\r\n"),
	META_ROW(OPERATION_SET, "!", "STORED \r\n"),
	META_ROW(OPERATION_SET, "!", "EN\r\n"),
	META_ROW(OPERATION_DELETE, "OM", "HD\r\nNF\r\n"),
	META_ROW(OPERATION_DELETE, "!", "VA 1\r\nx\r\n"),

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
	ROW("memcached-binary", OPERATION_SET, "OE",
	    "\x81\x21\0\0\0\0\0\0\0\0\0\xd\0\0\0\0\0\0\0\0\0\0\0\0" "Authenticated"
	    "\x81\x21\0\0\0\0\0\x20\0\0\0\xd\0\0\0\0\0\0\0\0\0\0\0\0" "Auth failure."),
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

#endif
