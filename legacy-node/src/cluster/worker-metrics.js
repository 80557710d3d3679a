/**
 * Metrics of all processes, summed by prom-client's aggregator. This module adds the primary's own
 * process, whose memory is part of the app's cost, and the counts of workers that have exited, so
 * that counters never go backwards.
 */
import { AggregatorRegistry } from 'prom-client';

/** A scrape waits this long for a worker, then uses its last known metrics. */
const ANSWER_TIMEOUT_MS = 2000;
const MESSAGE = { request: 'metrics_request', answer: 'metrics' };

/** In a worker: answers the primary's requests for metrics. */
export function answerMetricsRequests(register) {
  process.on('message', async ({ type, id }) => {
    if (type !== MESSAGE.request) return;
    const metrics = await register.getMetricsAsJSON();
    if (process.connected) process.send({ type: MESSAGE.answer, id, metrics });
  });
}

/**
 * In the primary: collects the workers' metrics and sums them.
 * @param register the primary's own registry
 */
export function createClusterMetrics(register) {
  const latest = new Map();
  let departed = [];
  let nextId = 0;
  return { render, retire };

  /** @returns {Promise<string>} Prometheus text of primary and workers together */
  async function render(workers) {
    await Promise.all(workers.map(ask));
    const own = (await register.getMetricsAsJSON()).flatMap(primaryPart);
    return AggregatorRegistry.aggregate([own, departed, ...latest.values()]).metrics();
  }

  /** Keeps the last known counts of a worker that exited and drops its gauges. */
  async function retire(worker) {
    const last = latest.get(worker.id);
    if (!last) return;
    latest.delete(worker.id);
    const counts = last.filter(({ type }) => type === 'counter' || type === 'histogram');
    departed = await AggregatorRegistry.aggregate([departed, counts]).getMetricsAsJSON();
  }

  function ask(worker) {
    const id = nextId++;
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timeout);
        worker.off('message', onMessage);
        worker.off('exit', finish);
        resolve();
      };
      const onMessage = (message) => {
        if (message.type !== MESSAGE.answer || message.id !== id) return;
        latest.set(worker.id, message.metrics);
        finish();
      };
      const timeout = setTimeout(finish, ANSWER_TIMEOUT_MS);
      worker.on('message', onMessage);
      worker.on('exit', finish);
      worker.send({ type: MESSAGE.request, id }, (error) => error && finish());
    });
  }
}

/**
 * The primary's metrics that count: its process and heap. Its idle event loop would dilute the
 * workers' averages. Its start time is the app's; by default the aggregator drops start times.
 */
function primaryPart(metric) {
  if (metric.name === 'process_start_time_seconds') return [{ ...metric, aggregator: 'first' }];
  return /^(process_|nodejs_heap_|nodejs_external_)/.test(metric.name) ? [metric] : [];
}
