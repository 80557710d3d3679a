/**
 * The relay's two listeners besides the app's: HTTP/1.1 for clients, and HTTP/2 without TLS for the proxy, because
 * nginx stops sending a request's body over HTTP/1 once the answer has begun.
 */
import { createServer as createHttp1 } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../http/listen.js';

const SWEEP_MS = 50;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Starts the listeners that have an address.
 * @param {object} config of `loadConfig`
 * @param {object} relay of `createRelay`
 * @returns {Promise<{addresses: object, stop: () => Promise<boolean>}>} the bound addresses by the log's names; `stop`
 * drains, sends away clients that wait on any listener, and tells whether all streams ended in time
 * @throws {StartupError}
 */
export async function startRelay(config, relay) {
  const { handle } = relay;
  const listeners = [
    ['relay_addr', 'RELAY_ADDR', config.relayAddr, createClientServer(handle, config)],
    ['relay_proxy_addr', 'RELAY_PROXY_ADDR', config.relayProxyAddr, createProxyServer(handle)],
  ].filter(([, , address]) => address);
  const addresses = {};
  const servers = [];
  const sockets = new Set();
  for (const [name, variable, address, server] of listeners) {
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    addresses[name] = await listen(server, address, variable);
    servers.push(server);
  }
  return { addresses, stop: () => stop(servers, sockets, relay, config) };
}

function createClientServer(handle, { headersTimeoutMs, keepAliveTimeoutMs }) {
  const server = createHttp1(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headersTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: 1000,
      requestTimeout: 0, // a stream may take as long as it likes
      noDelay: true,
    },
    handle,
  );
  // A client that half-closes after its whole request still gets the answer; `handle` decides who has left.
  server.httpAllowHalfOpen = true;
  return server;
}

function createProxyServer(handle) {
  const server = createHttp2(handle);
  server.on('sessionError', () => {}); // the proxy has closed the connection
  return server;
}

/** Refuses new keys, lets partners in for a while, lets pairs end, and cuts those left after the timeout. */
async function stop(servers, sockets, { pairing, counts }, config) {
  pairing.close();
  // A client that has just come also gets the shutdown delay to meet its partner.
  const end = performance.now() + config.shutdownDelayMs;
  while (pairing.sizes().waiting > 0 && performance.now() < end) await sleep(SWEEP_MS);
  for (const who of pairing.waiters()) who.giveUp('The relay is shutting down.');
  const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
  // The sweep is needed because close() also waits for the proxy's idle connections.
  const sweep = setInterval(() => closeIdle(servers, sockets, pairing), SWEEP_MS);
  let timer;
  const bound = new Promise((resolve) => {
    timer = setTimeout(resolve, config.drainTimeoutMs, false);
  });
  const inTime = await Promise.race([Promise.all(closed).then(() => true), bound]);
  clearTimeout(timer);
  clearInterval(sweep);
  counts.cutRest();
  for (const socket of sockets) socket.destroy();
  return inTime;
}

function closeIdle(servers, sockets, pairing) {
  for (const server of servers) server.closeIdleConnections?.();
  if (pairing.sizes().established === 0) for (const socket of sockets) socket.end();
}
