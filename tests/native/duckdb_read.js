// SPDX-License-Identifier: Apache-2.0
// Runs the SQL of standard input in DuckDB: node duckdb_read.js, in a folder with node_modules. Prints JSON: names and
// types of the columns, and the rows, in which numbers of 64 bits and more are texts.
"use strict";
const fs = require("fs");
const { DuckDBInstance } = require(require.resolve("@duckdb/node-api", { paths: [process.cwd()] }));

async function run(sql) {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const reader = await connection.runAndReadAll(sql);

  return { names: reader.columnNames(), types: reader.columnTypes().map(String), rows: reader.getRowsJson() };
}

run(fs.readFileSync(0, "utf8")).then((result) => process.stdout.write(JSON.stringify(result)), (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
