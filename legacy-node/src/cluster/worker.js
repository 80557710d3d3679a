import cluster from 'node:cluster';
import { startServing } from '../serve.js';
import { answerMetricsRequests } from './worker-metrics.js';

/**
 * One worker: serves until the primary says `drain`, or is gone. Signals are the primary's
 * business; a Ctrl-C reaches the whole process group and must not end workers early.
 */
export async function runWorker(config, logger) {
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  // The primary went away while this worker was telling it something: nothing left to serve.
  cluster.worker.on('error', () => process.exit(1));
  const told = new Promise((resolve) => {
    process.on('message', ({ type }) => type === 'drain' && resolve());
    process.on('disconnect', resolve);
  });
  const { metrics, stop } = await startServing(config, logger);
  answerMetricsRequests(metrics.register);
  process.send({ type: 'serving' });
  await told;
  await stop();
}
