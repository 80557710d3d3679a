import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves with the first SIGTERM or SIGINT. The same signal again ends the process at once. */
export function stopSignal() {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve('SIGTERM'));
    process.once('SIGINT', () => resolve('SIGINT'));
  });
}

/**
 * Shuts down gracefully: a single process or the cluster's primary.
 * @param {object} steps
 * @param {() => void} steps.markNotReady `/readyz` answers 503 from here on
 * @param {() => Promise<void>} steps.stop stops accepting and drains
 */
export async function shutDown({ signal, config, logger, markNotReady, stop }) {
  markNotReady();
  logger.info({ signal }, 'shutting down');
  await sleep(config.shutdownDelayMs);
  await stop();
  logger.info('stopped');
}
