/** The relay's metrics. Names and labels are relay-service's, so that the two compare. */
import { Counter, Gauge, Histogram } from 'prom-client';

/** Bounds in seconds, for times that people take. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300, 1800];

/**
 * Adds the relay's metrics to a registry.
 * @param {Registry} register
 * @param {object} relay of `createRelay`
 * @param {() => boolean} isLeaving whether the process was told to end
 */
export function measureRelay(register, { pairing, counts }, isLeaving) {
  const registers = [register];
  const metric = (Kind, name, help, collect, labelNames = []) =>
    new Kind({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset(); // the relay counts; this only shows
        collect(this);
      },
    });
  metric(
    Counter,
    'relay_pairs_total',
    'Pairs that have ended',
    (pairs) => {
      for (const [end, count] of Object.entries(counts.totals().pairs)) pairs.inc({ end }, count);
    },
    ['end'],
  );
  metric(
    Counter,
    'relay_unpaired_total',
    'Clients whose wait ended without a partner',
    (clients) => {
      const { unpaired } = counts.totals();
      for (const [end, count] of Object.entries(unpaired)) clients.inc({ end }, count);
    },
    ['end'],
  );
  metric(Counter, 'relay_received_bytes_total', 'Bytes taken from senders of pairs', (bytes) =>
    bytes.inc(counts.totals().receivedBytes),
  );
  metric(Gauge, 'relay_waiting_keys', 'Keys on which somebody waits', (keys) =>
    keys.set(pairing.sizes().waiting),
  );
  metric(Gauge, 'relay_established_pairs', 'Pairs under way', (pairs) =>
    pairs.set(pairing.sizes().established),
  );
  metric(Gauge, 'relay_leaving', 'Whether it was told to end', (leaving) =>
    leaving.set(Number(isLeaving())),
  );
  const histogram = (name, help) => new Histogram({ name, help, buckets: BUCKETS, registers });
  const pairingSeconds = histogram(
    'relay_pairing_seconds',
    'Time from the first client of a pair to the last',
  );
  const streamSeconds = histogram(
    'relay_stream_seconds',
    "Time from a pair's last client to its end",
  );
  counts.observe.pairing = (seconds) => pairingSeconds.observe(seconds);
  counts.observe.stream = (seconds) => streamSeconds.observe(seconds);
}
