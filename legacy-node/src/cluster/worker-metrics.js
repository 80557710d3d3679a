/**
 * Metrics of all processes as one. prom-client's aggregator does the sums; what is added here:
 * the primary's own process (its memory is part of what the app costs), and the counts of workers
 * that are gone, so that counters never go backwards.
 */
import { AggregatorRegistry } from 'prom-client';

/** A worker that doesn't answer in this time is left out of the scrape, not waited for. */
const ANSWER_TIMEOUT_MS = 2000;
const MESSAGE = { request: 'metrics_request', answer: 'metrics' };

/** In a worker: answer the primary's questions. */
export function answerMetricsRequests(register) {
  process.on('message', async ({ type, id }) => {
    if (type !== MESSAGE.request) return;
    const metrics = await register.getMetricsAsJSON();
    if (process.connected) process.send({ type: MESSAGE.answer, id, metrics });
  });
}

/** In the primary: asks the workers and adds up. */
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

  /** Keeps a gone worker's counts, as last seen, and forgets its gauges. */
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
 * What the primary adds: its process and heap. Its idle event loop would only dilute the averages
 * of the workers. Its start time stands for the app's, where the aggregator would drop it.
 */
function primaryPart(metric) {
  if (metric.name === 'process_start_time_seconds') return [{ ...metric, aggregator: 'first' }];
  return /^(process_|nodejs_heap_|nodejs_external_)/.test(metric.name) ? [metric] : [];
}
