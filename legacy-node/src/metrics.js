/** The app's metrics. Names, labels and buckets are those of qr-service, so that the two can be compared. */
import { createRequire } from 'node:module';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { droppedLines } from './logger.js';

const { version } = createRequire(import.meta.url)('../package.json');

/** Upper bounds in seconds. prom-client's default starts at 5 ms and would hide the difference. */
const DURATION_BUCKETS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];
const SIZE_BUCKETS = [128, 256, 512, 1024, 2048, 4096, 8192];

/** Other methods are counted as `other`, which bounds the number of series. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

export function methodLabel(method) {
  return METHODS.has(method) ? method : 'other';
}

/** A metric of a kind of prom-client's: a counter, gauge or histogram. It is in no registry unless `more` names one. */
export function metric(Kind, name, help, more) {
  return new Kind({ name, help, registers: [], ...more });
}

/**
 * A new registry with every metric of this process.
 * @param {string} engine name of the QR generator in use
 */
export function createMetrics(engine) {
  const registers = [new Registry()];
  const [register] = registers;
  collectDefaultMetrics({ register });
  const add = (Kind, name, help, more) => metric(Kind, name, help, { registers, ...more });
  const labelNames = ['route', 'method', 'status'];
  const help = 'Version of the app and its QR generator; always 1';
  const ofBuild = { labelNames: ['version', 'engine'], aggregator: 'first' };
  add(Gauge, 'qr_build_info', help, ofBuild).set({ version, engine }, 1);
  add(
    Counter,
    'log_lines_dropped_total',
    'Log lines dropped because standard output was not read in time',
    {
      collect() {
        this.reset();
        this.inc(droppedLines());
      },
    },
  );
  return {
    register,
    requests: add(Counter, 'http_requests_total', 'Requests answered', { labelNames }),
    duration: add(
      Histogram,
      'http_request_duration_seconds',
      'Time from the parsed request head to the last byte written',
      { labelNames, buckets: DURATION_BUCKETS },
    ),
    inFlight: add(Gauge, 'http_requests_in_flight', 'Requests being answered'),
    generateSeconds: add(
      Histogram,
      'qr_generate_seconds',
      'Time to generate one QR image, including waits for the event loop and the thread pool',
      { buckets: DURATION_BUCKETS },
    ),
    pngBytes: add(Histogram, 'qr_png_bytes', 'Size of the generated QR images', {
      buckets: SIZE_BUCKETS,
    }),
    fallbacks: add(
      Counter,
      'qr_fallback_requests_total',
      'QR requests that nginx sent here after qr-service failed them',
    ),
  };
}
