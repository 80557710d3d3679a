// A gRPC app as far as a proxy sees one: HTTP/2 without TLS, messages in both directions at once, trailers at the end.

import { createServer } from "node:http2";

const server = createServer();
server.on("stream", (stream, headers) => {
  const got = Object.entries(headers).filter(([name]) => /^x.(forwarded.for|route.*)$/.test(name));
  stream.on("error", () => {});
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", "x-got": got.map(([, value]) => value).join() },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.pipe(stream);
});
const [host, port] = process.argv[2].split(/:(?=\d+$)/);
server.listen(Number(port), host);
