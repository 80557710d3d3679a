/**
 * Which error belongs where:
 * - `ApiError`: a client's mistake that a route found. The client gets its message. Not logged.
 * - an error with a 4xx `status` from Express or its body parser: also a client's mistake. Its
 *   message may quote the input, so the client gets one of ours.
 * - any other error: the app's own. Logged once, here; the client gets a bare 500.
 */

/** A client's mistake: status, a code for programs, a message for people. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Code and message for each error type of Express' JSON parser. */
const BODY_ERRORS = {
  'entity.parse.failed': ['invalid_json', 'the body is not valid JSON'],
  'entity.too.large': ['body_too_large', 'the body is too large'],
  'encoding.unsupported': ['encoding_unsupported', 'this content encoding is not supported'],
  'charset.unsupported': ['charset_unsupported', 'this charset is not supported'],
};

/** The last middleware: turns a thrown error into an answer. */
export function errorHandler(logger) {
  return (error, req, res, next) => {
    const answer = toAnswer(error);
    if (answer.status >= 500) {
      logger.error({ request_id: res.locals.requestId, err: error }, 'request failed');
    }
    // The status line has been sent, so Express can only cut the connection.
    if (res.headersSent) return next(error);
    if (req.path.startsWith('/api/')) return sendJsonError(res, answer);
    sendText(res, answer.status, answer.message);
  };
}

function toAnswer(error) {
  if (error instanceof ApiError) return error;
  if (error.status >= 400 && error.status < 500) {
    const [code, message] = BODY_ERRORS[error.type] ?? ['bad_request', 'bad request'];
    return { status: error.status, code, message };
  }
  return { status: 500, code: 'internal', message: 'internal server error' };
}

/** Sends `{"error": {"code", "message"}}`, which no cache may store. */
export function sendJsonError(res, { status, code, message }) {
  res.status(status).set('Cache-Control', 'no-store').json({ error: { code, message } });
}

/**
 * Sends plain text exactly as given, without newline, ETag or caching. For HEAD, Node drops the
 * body.
 */
export function sendText(res, status, text, headers = {}) {
  res.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...headers,
  });
  res.end(text);
}

/** Ends a route: answers 405 to the methods that it does not handle. */
export function methodNotAllowed(...allowed) {
  return (req, res) => {
    res.set('Allow', allowed.join(', '));
    const message = 'method not allowed';
    if (req.path.startsWith('/api/')) {
      return sendJsonError(res, { status: 405, code: 'method_not_allowed', message });
    }
    sendText(res, 405, message);
  };
}
