import { createServer } from 'node:http';
import { identityHeaders, requestIdFrom } from './identity.js';

/** Room for 512 bytes of escaped text, cookies and the proxy's headers. A larger head gets 431. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Answers to requests that Node's parser refuses before Express sees them. */
const PARSER_ERRORS = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

/** Sockets whose request may take longer than `requestTimeout`. */
const unlimited = new WeakSet();

/**
 * Lets a request take as long as it likes. Node has one `requestTimeout` for all requests of a server; on expiry it
 * emits `clientError`, once per request, and `refuse` below ignores it for these sockets.
 */
export function liftRequestTimeout(req, res) {
  const { socket } = req;
  unlimited.add(socket);
  res.once('close', () => unlimited.delete(socket));
}

/** The app's HTTP server with its time and size limits; it does not listen yet. */
export function createPublicServer({ app, config, metrics, logger }) {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      // Longer than the proxy's: otherwise this side may close just as a request arrives, which then gets a 502.
      keepAliveTimeout: config.keepAliveTimeoutMs,
      headersTimeout: Math.min(config.headersTimeoutMs, config.requestTimeoutMs),
      requestTimeout: config.requestTimeoutMs,
      // By default Node checks these two limits only every 30 s.
      connectionsCheckingInterval: 1000,
    },
    app,
  );
  // A sender that half-closes after its whole body still gets the relay's answer.
  server.httpAllowHalfOpen = true;
  server.on('clientError', (error, socket) => refuse(error, socket, { metrics, logger }));
  return server;
}

/** Answers a request that could not be parsed and closes the connection. */
function refuse(error, socket, { metrics, logger }) {
  if (unlimited.has(socket)) {
    // Any other error is a broken body, and an answer may have begun: nothing can be added to it.
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy();
    return;
  }
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
  const [status, reason] = PARSER_ERRORS[error.code] ?? [400, 'Bad Request'];
  const labels = { route: 'unmatched', method: 'other', status };
  const requestId = requestIdFrom();
  metrics.requests.inc(labels);
  logger.info({ request_id: requestId, ...labels, reason: error.code }, 'request refused');
  const headers = {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': reason.length,
    'Cache-Control': 'no-store',
    Connection: 'close',
    ...identityHeaders(requestId),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${reason}`);
}
