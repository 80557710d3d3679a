/** The relay's metrics. Names and labels are those of relay-service, so that the two can be compared. */
import { Counter, Gauge, Histogram } from 'prom-client';

/** Histogram bounds in seconds, wide enough for times that people take. */
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
        this.reset(); // the relay keeps the counts; set them anew at each scrape
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
  metric(Gauge, 'relay_waiting_keys', 'Keys that wait for a partner', (keys) =>
    keys.set(pairing.sizes().waiting),
  );
  metric(Gauge, 'relay_established_pairs', 'Pairs that are established', (pairs) =>
    pairs.set(pairing.sizes().established),
  );
  metric(Gauge, 'relay_leaving', '1 once the service has been told to end, else 0', (leaving) =>
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
