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

/** In the primary: collects the workers' metrics and sums them. */
export class ClusterMetrics {
  #register;
  #latest = new Map();
  #departed = [];
  #nextId = 0;

  /** @param register the primary's own registry */
  constructor(register) {
    this.#register = register;
  }

  /** @returns {Promise<string>} Prometheus text of primary and workers together */
  async render(workers) {
    await Promise.all(workers.map((worker) => this.#ask(worker)));
    const own = (await this.#register.getMetricsAsJSON()).flatMap(primaryPart);
    const parts = [own, this.#departed, ...this.#latest.values()];
    return AggregatorRegistry.aggregate(parts).metrics();
  }

  /** Keeps the last known counts of a worker that exited and drops its gauges. */
  async retire(worker) {
    const last = this.#latest.get(worker.id);
    if (!last) return;
    this.#latest.delete(worker.id);
    const counts = last.filter(({ type }) => type === 'counter' || type === 'histogram');
    const sum = AggregatorRegistry.aggregate([this.#departed, counts]);
    this.#departed = await sum.getMetricsAsJSON();
  }

  #ask(worker) {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timeout);
        worker.off('message', onMessage);
        worker.off('exit', finish);
        resolve();
      };
      const onMessage = (message) => {
        if (message.type !== MESSAGE.answer || message.id !== id) return;
        this.#latest.set(worker.id, message.metrics);
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
