// The app of app.py in Node, with early refusals: a server that knows nothing of a proxy.

import { createHash } from "node:crypto";
import { createServer } from "node:http";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
let received = 0;

const server = createServer((request, response) => {
  const [path, query] = request.url.split("?");
  if (path.endsWith("/refuse")) {
    // Node closes with the body unread.
    response.writeHead(413, { Connection: "close" });
    response.end("too large");
  } else if (request.method !== "GET") {
    const digest = createHash("sha256");
    received = 0;
    request.on("data", (part) => {
      digest.update(part);
      received += part.length;
    });
    request.on("end", () => response.end(`${received} ${digest.digest("hex")}`));
  } else if (path.endsWith("/events")) {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write("data: first\n\n");
    setTimeout(() => response.end("data: last\n\n"), Number(query) * 1000);
  } else if (path === "/received") {
    response.end(String(received));
  } else if (path.endsWith("/long-cookie")) {
    response.setHeader("Set-Cookie", `a=${"c".repeat(9000)}`);
    response.end();
  } else if (path.endsWith("/drop")) {
    request.socket.destroy();
  } else {
    const { rawHeaders } = request;
    const lines = rawHeaders.map((part, at) => (at % 2 ? `${part}\n` : `${part}: `));
    let bytes = 0;
    request.on("data", (part) => {
      bytes += part.length;
    });
    request.on("end", () => {
      response.writeHead(200, { "X-Powered-By": "Node", "X-Accel-Redirect": "/drop", "X-Body": bytes });
      response.end(lines.join(""));
    });
  }
});

server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"];
  const accept = createHash("sha1").update(key + GUID).digest("base64");
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  let bytes = Buffer.alloc(0);
  socket.on("data", (more) => {
    bytes = Buffer.concat([bytes, more]);
    while (bytes.length >= 6 && bytes.length >= 6 + (bytes[1] & 127)) {
      const length = bytes[1] & 127;
      const text = bytes.subarray(6, 6 + length).map((byte, at) => byte ^ bytes[2 + (at % 4)]);
      socket.write(Buffer.concat([Buffer.from([bytes[0], length]), text]));
      bytes = bytes.subarray(6 + length);
    }
  });
  socket.on("error", () => socket.destroy());
});

const [host, port] = process.argv[2].split(/:(?=\d+$)/);
server.maxHeaderSize = 65536;
server.listen(Number(port), host);
