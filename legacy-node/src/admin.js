/**
 * The admin listener, on a separate port that the proxy never routes to:
 * - `/livez`: 200 while the process runs
 * - `/readyz`: 200 when it can take traffic, 503 before that and once shutdown begins
 * - `/metrics`: Prometheus text
 * - `/held`: 204 if the relay holds the key in `X-Key`; else 404, or 503 once shutdown begins
 * - the paths in `texts`, such as the relay's `/waiting`
 */
import { createServer } from 'node:http';
import { Registry } from 'prom-client';

/**
 * @param {object} parts
 * @param {() => boolean} parts.isReady
 * @param {() => Promise<string>} parts.renderMetrics Prometheus text of the whole app
 * @param {(key: string) => boolean} [parts.holdsKey] whether the relay has the key
 * @param {Record<string, () => string>} [parts.texts] further paths
 */
export function createAdminServer({
  isReady,
  renderMetrics,
  holdsKey = () => false,
  texts = {},
  logger,
}) {
  const endpoints = {
    '/livez': () => [200, 'ok\n'],
    '/readyz': () => (isReady() ? [200, 'ready\n'] : [503, 'not ready\n']),
    '/held': (req) => {
      if (holdsKey(req.headers['x-key'])) return [204, ''];
      return isReady() ? [404, 'not held\n'] : [503, 'not ready\n'];
    },
    '/metrics': async () => [200, await renderMetrics(), Registry.PROMETHEUS_CONTENT_TYPE],
    ...Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, () => [200, text()]])),
  };
  return createServer(async (req, res) => {
    const [status, body, type] = await answer(endpoints, req, logger);
    res.writeHead(status, {
      'Content-Type': type ?? 'text/plain; charset=utf-8',
      ...(status !== 204 && { 'Content-Length': Buffer.byteLength(body) }),
      'Cache-Control': 'no-store',
      ...(status === 405 && { Allow: 'GET, HEAD' }),
    });
    res.end(body);
  });
}

async function answer(endpoints, req, logger) {
  const path = req.url.split('?', 1)[0];
  if (!Object.hasOwn(endpoints, path)) return [404, 'not found\n'];
  if (req.method !== 'GET' && req.method !== 'HEAD') return [405, 'method not allowed\n'];
  try {
    return await endpoints[path](req);
  } catch (err) {
    logger.error({ err, path }, 'admin request failed');
    return [500, 'internal server error\n'];
  }
}
