// Node's own HTTP server with one handler. Arguments: ADDRESS CORES documented|tuned timeouts|forever.
//
// Documented: one process. Tuned: a process per core, and headers as one flat list.
import cluster from 'node:cluster';
import { createServer } from 'node:http';

const [address, cores, column, timeouts] = process.argv.slice(2);
const [host, port] = address.split(':');
const body = Buffer.from('Z'.repeat(420));
const tuned = column === 'tuned';
const limits =
  timeouts === 'timeouts'
    ? { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 60_000 }
    : { headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 };

function documented(_request, response) {
  // Its value is always "keep-alive", which HTTP/1.1 does not need.
  response.removeHeader('Connection');
  response.writeHead(200, { 'Content-Type': 'image/png', 'Content-Length': body.length });
  response.end(body);
}

const head = ['Content-Type', 'image/png', 'Content-Length', '420'];
function flat(_request, response) {
  response.removeHeader('Connection');
  response.writeHead(200, head).end(body);
}

if (tuned && Number(cores) > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < Number(cores); worker++) cluster.fork();
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGKILL');
    process.exit();
  });
} else {
  createServer(limits, tuned ? flat : documented).listen({
    port: Number(port),
    host,
    backlog: 4096,
  });
}
