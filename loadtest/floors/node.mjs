// Node's own HTTP server with one handler, in one process. Its argument is the address.
import { createServer } from 'node:http';

const [host, port] = process.argv[2].split(':');
const body = Buffer.from('Z'.repeat(420));
const limits = { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 60_000 };

createServer(limits, (_request, response) => {
  // Its value is always "keep-alive", which HTTP/1.1 does not need.
  response.removeHeader('Connection');
  response.writeHead(200, { 'Content-Type': 'image/png', 'Content-Length': body.length });
  response.end(body);
}).listen({ port: Number(port), host, backlog: 4096 });
