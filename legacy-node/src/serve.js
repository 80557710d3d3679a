/** One serving process: the whole app with WORKERS=1, else one worker of the cluster. */
import { buildApp } from './app.js';
import { drain, listen } from './http/listen.js';
import { createPublicServer } from './http/public-server.js';
import { openLinkStore } from './links/store.js';
import { createMetrics } from './metrics.js';
import { loadGenerator } from './qr/generators/index.js';

/**
 * Opens the data and starts the public listener.
 * @param {object} [relay] of `createRelay`; only if this is the only process
 * @returns {Promise<{address, metrics, stop}>} the bound address, the metrics, and `stop()`, which
 *   drains and closes the data
 * @throws {StartupError}
 */
export async function startServing(config, logger, relay) {
  const { engine, generateQr } = await loadGenerator(config.qrImpl, config.qrImplPath);
  const store = openLinkStore(config.dataDir);
  const metrics = createMetrics(engine);
  const app = buildApp({ config, store, metrics, logger, generateQr, relay });
  const server = createPublicServer({ app, config, metrics, logger });
  const address = await listen(server, config.addr, 'ADDR');
  const stop = async () => {
    const inTime = await drain(server, config.drainTimeoutMs);
    if (!inTime) logger.warn('requests were cut off at the end of the drain time');
    store.close();
  };
  return { address, metrics, stop };
}
