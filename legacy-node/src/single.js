import { createAdminServer } from './admin.js';
import { formatAddress } from './config.js';
import { listen } from './http/listen.js';
import { shutDown, stopSignal } from './lifecycle.js';
import { createRelay } from './relay/handler.js';
import { startRelay } from './relay/server.js';
import { digest } from './relay/target.js';
import { startServing } from './serve.js';

/** Runs the app in one process until a signal ends it. */
export async function runSingle(config, logger) {
  let ready = false;
  const signalled = stopSignal();
  const relay = createRelay({
    maxWaitingKeys: config.relayMaxWaitingKeys,
    waitTimeoutMs: config.relayWaitTimeoutMs,
  });
  const { address, metrics, stop: stopApp } = await startServing(config, logger, relay);
  const relayListeners = await startRelay(config, relay);
  const admin = createAdminServer({
    isReady: () => ready,
    renderMetrics: () => metrics.register.metrics(),
    holdsKey: relay.pairing.holds,
    texts: {
      '/waiting': () =>
        relay.pairing
          .waitingKeys()
          .map((key) => `${digest(key)}\n`)
          .join(''),
    },
    logger,
  });
  if (config.relayAddr || config.relayProxyAddr)
    relay.counts.register(metrics.register, relay.pairing.sizes, () => !ready);
  const adminAddress = await listen(admin, config.adminAddr, 'ADMIN_ADDR');
  ready = true;
  logger.info(
    {
      addr: formatAddress(address),
      admin_addr: formatAddress(adminAddress),
      ...mapValues(relayListeners.addresses, formatAddress),
      workers: 1,
    },
    'listening',
  );

  const markNotReady = () => {
    ready = false;
  };
  const stop = async () => {
    const [, inTime] = await Promise.all([stopApp(), relayListeners.stop()]);
    if (!inTime) logger.warn('streams were cut off at the end of the drain time');
  };
  await shutDown({ signal: await signalled, config, logger, markNotReady, stop });
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
