import { once } from 'node:events';
import { formatAddress } from '../config.js';
import { StartupError } from '../startup-error.js';

const SWEEP_MS = 50;

const REASONS = {
  EADDRINUSE: 'the address is already in use',
  EACCES: 'no permission to use this address',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
};

/**
 * For each server, what `drain` has to close. Open sockets: browsers open connections ahead of need, and
 * closeIdleConnections() skips those that never sent a byte. Unfinished answers: they must tell their clients not to
 * reuse the connection.
 */
const underWay = new WeakMap();

/**
 * Starts listening.
 * @param {string} variable the address's setting, which the error names
 * @returns {Promise<{host: string, port: number}>} the bound address (port 0 is resolved)
 * @throws {StartupError}
 */
export async function listen(server, { host, port }, variable) {
  track(server);
  try {
    // Without a host, Node listens on :: and without IPv6 on 0.0.0.0.
    server.listen(host === '::' ? { port } : { host, port });
    await once(server, 'listening');
  } catch (error) {
    const reason = REASONS[error.code] ?? error.message;
    throw new StartupError(`${variable}=${formatAddress({ host, port })}: can't listen: ${reason}`);
  }
  return { host, port: server.address().port };
}

/**
 * Stops accepting, lets requests in flight finish, and cuts those left after the timeout.
 * @returns {Promise<boolean>} whether all finished in time
 */
export async function drain(server, timeoutMs) {
  let inTime = true;
  const { sockets, responses } = underWay.get(server);
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'));
  for (const res of responses) if (!res.headersSent) res.setHeader('Connection', 'close');
  const bound = setTimeout(() => {
    inTime = false;
    server.closeAllConnections();
  }, timeoutMs);
  const closed = new Promise((resolve) => server.close(resolve));
  // close() ends the connections that are idle now; the sweep ends those that become idle later.
  const sweep = setInterval(() => {
    server.closeIdleConnections();
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, SWEEP_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(bound);
  return inTime;
}

function track(server) {
  const sockets = new Set();
  const responses = new Set();
  underWay.set(server, { sockets, responses });
  server.on('connection', (socket) => holdUntilClose(sockets, socket));
  server.on('request', (_req, res) => holdUntilClose(responses, res));
}

function holdUntilClose(set, item) {
  set.add(item);
  item.once('close', () => set.delete(item));
}
