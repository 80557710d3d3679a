import { once } from 'node:events';
import { formatAddress } from '../config.js';
import { StartupError } from '../startup-error.js';

const REASONS = {
  EADDRINUSE: 'the address is already in use',
  EACCES: 'no permission to use this address',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
};

/**
 * Starts listening.
 * @param {string} variable the setting that the address came from, for the error
 * @returns {Promise<{host: string, port: number}>} the bound address (port 0 is resolved)
 * @throws {StartupError}
 */
export async function listen(server, { host, port }, variable) {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    const reason = REASONS[error.code] ?? error.message;
    throw new StartupError(`${variable}=${formatAddress({ host, port })}: can't listen: ${reason}`);
  }
  return { host, port: server.address().port };
}

/**
 * Stops accepting, lets requests in flight finish, and cuts what is left after the bound.
 * @returns {Promise<boolean>} whether all finished in time
 */
export async function drain(server, timeoutMs) {
  let inTime = true;
  // A kept-alive connection would outlive its last answer by the keep-alive timeout.
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'));
  const bound = setTimeout(() => {
    inTime = false;
    server.closeAllConnections();
  }, timeoutMs);
  const closed = new Promise((resolve) => server.close(resolve));
  // close() ends the connections that are idle now; those that turn idle later need a look.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  await closed;
  clearInterval(sweep);
  clearTimeout(bound);
  return inTime;
}
