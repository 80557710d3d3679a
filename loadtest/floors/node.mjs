// Node's own HTTP server with one handler.
import { createServer } from 'node:http';

const [host, port] = process.argv[2].split(':');
const body = Buffer.from('Z'.repeat(420));

createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'image/png', 'Content-Length': body.length });
  response.end(body);
}).listen(Number(port), host);
