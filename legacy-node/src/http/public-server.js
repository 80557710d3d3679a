import { createServer } from 'node:http';
import { identityHeaders, requestIdFrom } from './identity.js';

/** Enough for 512 bytes of text as escapes, cookies and the proxy's headers. Past it: 431. */
const MAX_HEADER_BYTES = 16 * 1024;

/** What Node's parser refuses before Express sees it. */
const PARSER_ERRORS = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

/** An HTTP server around the app, with its time and size limits; not yet listening. */
export function createPublicServer({ app, config, metrics, logger }) {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      // Longer than the proxy keeps an idle connection: else both ends race, and lose, into 502s.
      keepAliveTimeout: config.keepAliveTimeoutMs,
      headersTimeout: Math.min(config.headersTimeoutMs, config.requestTimeoutMs),
      requestTimeout: config.requestTimeoutMs,
      // How exact those two are: Node looks every 30 s by default.
      connectionsCheckingInterval: 1000,
    },
    app,
  );
  server.on('clientError', (error, socket) => refuse(error, socket, { metrics, logger }));
  return server;
}

/** Answers a request that isn't HTTP enough to have become one, and closes the connection. */
function refuse(error, socket, { metrics, logger }) {
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
