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

/**
 * A new registry with every metric of this process.
 * @param {string} engine name of the QR generator in use
 */
export function createMetrics(engine) {
  const registers = [new Registry()];
  const [register] = registers;
  collectDefaultMetrics({ register });
  const labelNames = ['route', 'method', 'status'];
  new Gauge({
    name: 'qr_build_info',
    help: 'Version of the app and its QR generator; always 1',
    labelNames: ['version', 'engine'],
    aggregator: 'first',
    registers,
  }).set({ version, engine }, 1);
  new Counter({
    name: 'log_lines_dropped_total',
    help: 'Log lines dropped because standard output was not read in time',
    registers,
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
  return {
    register,
    requests: new Counter({
      name: 'http_requests_total',
      help: 'Requests answered',
      labelNames,
      registers,
    }),
    duration: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the parsed request head to the last byte written',
      labelNames,
      buckets: DURATION_BUCKETS,
      registers,
    }),
    inFlight: new Gauge({
      name: 'http_requests_in_flight',
      help: 'Requests being answered',
      registers,
    }),
    generateSeconds: new Histogram({
      name: 'qr_generate_seconds',
      help: 'Time to generate one QR image, including waits for the event loop and the thread pool',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    pngBytes: new Histogram({
      name: 'qr_png_bytes',
      help: 'Size of the generated QR images',
      buckets: SIZE_BUCKETS,
      registers,
    }),
    fallbacks: new Counter({
      name: 'qr_fallback_requests_total',
      help: 'QR requests that nginx sent here after qr-service failed them',
      registers,
    }),
  };
}
