/**
 * Counts pairs by how they ended, and clients that waited in vain. Names and labels are those of relay-service, so that
 * the two can be compared.
 */
import { Counter, Gauge, Histogram } from 'prom-client';
import { metric } from '../metrics.js';

/** Histogram bounds in seconds, wide enough for times that people take. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300, 1800];

/** Metrics that are in no registry before `register`. */
export function createCounts() {
  const pairs = counter('relay_pairs_total', 'Pairs that have ended', [
    'whole',
    'sender_left',
    'receivers_left',
    'cut',
  ]);
  const unpaired = counter('relay_unpaired_total', 'Clients whose wait ended without a partner', [
    'left',
    'expired',
    'closed',
  ]);
  const bytes = counter('relay_received_bytes_total', 'Bytes taken from senders of pairs');
  const pairing = histogram(
    'relay_pairing_seconds',
    'Time from the first client of a pair to the last',
  );
  const stream = histogram('relay_stream_seconds', "Time from a pair's last client to its end");
  let cutting = false;
  return { begin, unpairedBy, cutRest, register };

  /** A pair is complete. `received` counts its bytes, `end` its end. */
  function begin(sender, receivers) {
    const times = [sender.came, ...receivers.map(({ came }) => came)];
    const last = Math.max(...times);
    return {
      received: (count) => bytes.inc(count),
      /** @param {'whole' | 'sender_left' | 'receivers_left'} how */
      end(how) {
        // A pair that ends while the server cuts connections was cut by the server.
        pairs.inc({ end: cutting && how !== 'whole' ? 'cut' : how });
        pairing.observe((last - Math.min(...times)) / 1000);
        stream.observe((performance.now() - last) / 1000);
      },
    };
  }

  /**
   * Counts a client whose wait ended without a partner.
   * @param {'left' | 'expired' | 'closed'} end
   */
  function unpairedBy(end) {
    unpaired.inc({ end });
  }

  /** From now on, pairs that end count as cut by the server. */
  function cutRest() {
    cutting = true;
  }

  /**
   * Adds all to a registry.
   * @param {() => {waiting: number, established: number}} sizes of the pairing
   * @param {() => boolean} isLeaving whether the process was told to end
   */
  function register(registry, sizes, isLeaving) {
    const gauges = [
      gauge('relay_waiting_keys', 'Keys that wait for a partner', () => sizes().waiting),
      gauge('relay_established_pairs', 'Pairs that are established', () => sizes().established),
      gauge('relay_leaving', '1 once the service has been told to end, else 0', () =>
        Number(isLeaving()),
      ),
    ];
    for (const metric of [pairs, unpaired, bytes, pairing, stream, ...gauges])
      registry.registerMetric(metric);
  }
}

function counter(name, help, ends) {
  const made = metric(Counter, name, help, { labelNames: ends ? ['end'] : [] });
  // `rate` misses a series' first value, so each begins at 0.
  for (const end of ends ?? []) made.inc({ end }, 0);
  return made;
}

function histogram(name, help) {
  return metric(Histogram, name, help, { buckets: BUCKETS });
}

function gauge(name, help, value) {
  return metric(Gauge, name, help, {
    collect() {
      this.set(value());
    },
  });
}
