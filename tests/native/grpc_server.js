// SPDX-License-Identifier: Apache-2.0
// A gRPC server whose messages are bytes: node grpc_server.js PORT, in a folder with node_modules. Call echoes, Fail fails.
"use strict";
const grpc = require(require.resolve("@grpc/grpc-js", { paths: [process.cwd()] }));

const same = (bytes) => bytes;
const method = (name) => ({
  path: `/test.Echo/${name}`, requestStream: false, responseStream: false,
  requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same,
});
const server = new grpc.Server();

server.addService({ Call: method("Call"), Fail: method("Fail") }, {
  Call: (call, done) => done(null, call.request),
  Fail: (call, done) => done({ code: grpc.status.UNAVAILABLE, details: "not now, 100 %" }),
});
server.bindAsync(`127.0.0.1:${process.argv[2]}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error)
    throw error;
});
