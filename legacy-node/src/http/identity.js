import { randomUUID } from 'node:crypto';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;
// W3C Trace Context, version 00, which forbids all-zero ids.
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The headers that every answer has. */
export function identityHeaders(requestId) {
  return {
    'X-Request-Id': requestId,
    'X-Served-By': 'legacy-node',
    'X-Content-Type-Options': 'nosniff',
  };
}

/** The client's request id if it is valid, else a new one. */
export function requestIdFrom(header) {
  return VISIBLE_ASCII.test(header ?? '') ? header : randomUUID();
}

/** Middleware: sets the identity headers and keeps the request's ids in `res.locals`. */
export function identify(req, res, next) {
  res.locals.requestId = requestIdFrom(req.headers['x-request-id']);
  res.locals.traceId = TRACEPARENT.exec(req.headers.traceparent ?? '')?.[1];
  res.set(identityHeaders(res.locals.requestId));
  next();
}
