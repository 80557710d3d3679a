import { methodLabel } from '../metrics.js';

/** Recorded when the client left before the answer was complete; nginx uses the same number. */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * Middleware: measures each request and writes one log line. Metrics and logs have only the route's
 * template, because paths contain link ids and queries contain the text.
 */
export function observe(metrics, logger) {
  return (req, res, next) => {
    const start = performance.now();
    metrics.inFlight.inc();
    // 'close' fires once, after the last byte or after a lost connection.
    res.once('close', () => {
      metrics.inFlight.dec();
      // Whole microseconds: more digits would be noise.
      const durationSeconds = Math.round((performance.now() - start) * 1000) / 1e6;
      const route = res.locals.route ?? req.route?.path ?? 'unmatched';
      const method = methodLabel(req.method);
      const status = res.writableFinished ? res.statusCode : CLIENT_CLOSED_REQUEST;
      const labels = { route, method, status };
      metrics.requests.inc(labels);
      metrics.duration.observe(labels, durationSeconds);
      const { requestId: request_id, traceId: trace_id, side = 'old' } = res.locals;
      logger[status >= 500 ? 'error' : 'info'](
        {
          request_id,
          trace_id,
          route,
          method,
          status,
          duration_seconds: durationSeconds,
          side,
        },
        'request',
      );
    });
    next();
  };
}
