// SPDX-License-Identifier: Apache-2.0
// Answers the HTTP protocol of a ClickHouse server, as far as hostlat needs it, with the engine of the npm package chdb:
// node chdb_serve.js PORT FOLDER, in a folder with node_modules. The engine gets the statements in their order. User and
// password are in CHDB_USER and CHDB_PASSWORD of the environment; FOLDER is for the tables.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const { Session } = require(require.resolve("chdb", { paths: [process.cwd()] }));

const [port, folder] = process.argv.slice(2);
const session = new Session(path.join(folder, "data"));
const rows = path.join(folder, "rows");
// Parameters of the URL that are the protocol's, not settings of the query.
const PROTOCOL = ["query", "wait_end_of_query", "buffer_size"];
let turn = Promise.resolve();

// The engine takes statements as UTF-8: other bytes, which only texts have, become escapes.
function ascii(sql) {
  return sql.toString("latin1").replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

// An INSERT has its rows in the body, which the engine reads from a file.
function statement(url, body) {
  const sql = url.searchParams.get("query");
  const settings = [...url.searchParams].filter(([name]) => !PROTOCOL.includes(name))
    .map(([name, value]) => `${name} = ${Number(value)}`).join(", ");

  if (sql === null)
    return ascii(body) + (settings && ` SETTINGS ${settings}`);
  fs.writeFileSync(rows, body);
  return sql.replace(/ FORMAT (\w+)$/, ` FROM INFILE '${rows}'${settings && ` SETTINGS ${settings}`} FORMAT $1`);
}

async function answer(url, body) {
  return Buffer.from((await session.queryAsync(statement(url, body))).bytes());
}

function refuse(response, status, message) {
  response.writeHead(status);
  response.end(`${message}\n`);
}

function take(request, response, body) {
  const { "x-clickhouse-user": user, "x-clickhouse-key": key } = request.headers;

  if (user !== process.env.CHDB_USER || key !== process.env.CHDB_PASSWORD) {
    refuse(response, 403, "Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)");
    return;
  }
  turn = turn.then(() => answer(new URL(request.url, "http://localhost"), body)).then((bytes) => {
    response.writeHead(200, { "Content-Length": bytes.length });
    response.end(bytes);
  }, (error) => refuse(response, error.message.includes("(UNKNOWN_") ? 404 : 500, error.message));
}

http.createServer((request, response) => {
  const parts = [];

  request.on("data", (part) => parts.push(part));
  request.on("end", () => take(request, response, Buffer.concat(parts)));
}).listen(port, "127.0.0.1");
