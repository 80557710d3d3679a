/** The relay's answers: headers and lines. */
import { constants } from 'node:http2';

const TEXT_HEADERS = { 'Content-Type': 'text/plain', 'Access-Control-Allow-Origin': '*' };
const METHODS = 'GET, POST, PUT, OPTIONS';

/** Answers with one `[ERROR]` line. */
export function sendError(res, status, message, headers = {}) {
  const body = `[ERROR] ${message}\n`;
  const length = { 'Content-Length': Buffer.byteLength(body) };
  res.writeHead(status, { ...TEXT_HEADERS, ...length, ...headers });
  res.end(body);
}

/** Answers a preflight request (CORS). */
export function sendOptions(req, res) {
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': 'Content-Type, Content-Disposition, X-Piping',
    'Access-Control-Max-Age': '86400',
    'Content-Length': '0',
  };
  if (req.headers['access-control-request-private-network'] === 'true') {
    headers['Access-Control-Allow-Private-Network'] = 'true';
  }
  res.writeHead(200, headers);
  res.end();
}

/** Answers 405. */
export function sendMethodNotAllowed(req, res) {
  sendError(res, 405, `Unsupported method: ${req.method}.`, { Allow: METHODS });
}

/**
 * The sender's answer: `[INFO]` lines as they come. An HTTP/1.0 client cannot read chunks, so it
 * gets all lines at the end.
 */
export function openLines(req, res) {
  const held = req.httpVersion === '1.0' ? [] : undefined;
  if (!held) {
    res.writeHead(200, TEXT_HEADERS);
    res.flushHeaders?.();
  }
  return { info: (text) => write(`[INFO] ${text}\n`), end };

  function write(line) {
    if (held) held.push(line);
    else if (!res.writableEnded) res.write(line);
  }

  /** Sends a last line, if any, and ends the answer. */
  function end(line = '') {
    if (held) {
      const body = held.join('') + line;
      res.writeHead(200, { ...TEXT_HEADERS, 'Content-Length': Buffer.byteLength(body) });
      res.end(body);
    } else {
      res.end(line);
    }
  }
}

/**
 * Closes the connection of a sender whose answer ends before its body. Otherwise Node would read the whole body first,
 * and the sender would take that for progress. HTTP/2 closes such a stream by itself.
 */
export function closeIfUnread(req, res) {
  res.once('finish', () => {
    if (!res.stream && !req.complete) req.destroy();
  });
}

/** Cuts an answer with an error, so that no client takes it for a complete one. */
export function cut(res) {
  if (res.stream) res.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else if (res.socket && !res.socket.destroyed) res.socket.resetAndDestroy();
  else res.destroy();
}
