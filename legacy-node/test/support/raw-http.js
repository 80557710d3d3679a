/** HTTP by hand: sends the request exactly as written, which no client library does. */
import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * @param {string} addr HOST:PORT
 * @param {string} target request target, sent byte for byte (Latin-1)
 * @returns {Promise<{status: number, headers: Record<string, string>, body: Buffer}>}
 */
export async function request(addr, target, { method = 'GET', headers = {}, body = '' } = {}) {
  const all = { Host: addr, Connection: 'close', ...headers };
  if (body !== '') all['Content-Length'] = Buffer.byteLength(body);
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const start = Buffer.from(`${method} ${target} HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1');
  return exchange(addr, Buffer.concat([start, Buffer.from(body)]));
}

/** Sends the bytes and reads until the server closes. */
export async function exchange(addr, bytes) {
  const socket = await open(addr);
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  // A server that refuses early may reset while we still write; its answer still counts.
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return parse(Buffer.concat(chunks));
}

/** A connected socket. */
export async function open(addr) {
  const [host, port] = addr.split(':');
  const socket = connect(Number(port), host);
  await once(socket, 'connect');
  return socket;
}

function parse(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, body: bytes.subarray(end + 4) };
}
