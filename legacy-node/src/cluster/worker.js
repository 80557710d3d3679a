import cluster from 'node:cluster';
import { startServing } from '../serve.js';
import { answerMetricsRequests } from './worker-metrics.js';

/**
 * One worker: serves until the primary sends `drain` or exits. It ignores signals, because a Ctrl-C
 * reaches the whole process group and the primary decides when workers end.
 */
export async function runWorker(config, logger) {
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  // The primary exited while this worker was sending to it.
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
