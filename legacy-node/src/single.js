import { createAdminServer } from './admin.js';
import { formatAddress } from './config.js';
import { listen } from './http/listen.js';
import { shutDown, stopSignal } from './lifecycle.js';
import { startServing } from './serve.js';

/** Runs the app in one process until a signal ends it. */
export async function runSingle(config, logger) {
  let ready = false;
  const signalled = stopSignal();
  const { address, metrics, stop } = await startServing(config, logger);
  const admin = createAdminServer({
    isReady: () => ready,
    renderMetrics: () => metrics.register.metrics(),
    logger,
  });
  const adminAddress = await listen(admin, config.adminAddr, 'ADMIN_ADDR');
  ready = true;
  logger.info(
    { addr: formatAddress(address), admin_addr: formatAddress(adminAddress), workers: 1 },
    'listening',
  );

  const markNotReady = () => {
    ready = false;
  };
  await shutDown({ signal: await signalled, config, logger, markNotReady, stop });
}
