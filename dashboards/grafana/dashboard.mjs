// The dashboard's panels. `node dashboards/grafana/dashboard.mjs` writes qr-gap.json, which Grafana
// loads; lint.mjs fails if the two differ.
//
// Panels that compare the sides use recording rules, which sum over each side. The variables `job`
// and `instance` apply to the last two panels of the row Traffic and to the row Saturation.

import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { arrange, choice, curves, datasourceChoice, mark, number, row, states } from './model.mjs';

const CHOSEN = 'job=~"$job",instance=~"$instance"';

/** What screens call the two sides. */
const SIDES = { old: 'Node', new: 'Rust' };

/** A recorded metric as two lines, one for each side. */
const pair = (metric, suffix = '') =>
  Object.entries(SIDES).map(([side, name]) => [`${name}${suffix}`, `${metric}{side="${side}"}`]);

const quantiles = (metric) =>
  ['p99', 'p90', 'p50'].flatMap((q) => pair(`${metric}:${q}_1m`, ` ${q}`));

const ratio = (title, description, metric) =>
  number({
    title,
    description: `${description}, Node over Rust. No data unless both sides have some.`,
    unit: 'suffix:×',
    width: 5,
    lines: [[title, metric]],
  });

const gap = [
  ratio('Memory', 'Resident memory of all processes', 'qr:old_over_new:memory'),
  ratio(
    'Latency',
    'p99 as the shadow measures it, on the same requests',
    'qr:old_over_new:latency_p99',
  ),
  ratio('CPU', 'CPU seconds per 1000 requests', 'qr:old_over_new:cpu'),
  ratio('Bandwidth', 'Mean bytes of an answer, on the same requests', 'qr:old_over_new:bytes'),
  number({
    title: 'Alerts firing',
    description: 'Each alert has a runbook in docs/runbooks.',
    unit: 'short',
    width: 4,
    decimals: 0,
    steps: [
      [null, 'green'],
      [1, 'red'],
    ],
    lines: [['firing', 'count(ALERTS{alertname=~"Qr.+",alertstate="firing"}) or vector(0)']],
  }),
];

const sideBySide = [
  curves({
    title: 'Memory',
    description: 'Resident memory of all processes; for Node, the whole cluster.',
    unit: 'bytes',
    lines: pair('side:qr_resident_memory_bytes:sum'),
  }),
  curves({
    title: 'Latency from the shadow',
    description:
      'The shadow sends both sides the same request and times them from outside, waits included. Logarithmic.',
    unit: 's',
    log: true,
    lines: quantiles('side:shadow_response_seconds'),
  }),
  curves({
    title: 'Latency by each side',
    description:
      "By each side's own clock, over all its requests. Node's leaves out the wait for the event loop. Logarithmic.",
    unit: 's',
    log: true,
    lines: quantiles('side:qr_own_duration_seconds'),
  }),
  curves({
    title: 'CPU per 1000 requests',
    description:
      'All CPU of the processes over their requests of all routes. With few requests, mostly the cost of the idle process. Logarithmic.',
    unit: 's',
    log: true,
    lines: pair('side:qr_cpu_seconds_per_1000_requests:rate1m'),
  }),
  curves({
    title: 'Bytes per answer',
    description:
      'Mean size of a body, on the same requests. Dashed: of the pictures that each side made for its own clients.',
    unit: 'bytes',
    lines: [
      ...pair('side:qr_response_bytes:mean_1m'),
      ...pair('side:qr_own_png_bytes:mean_1m', ' own'),
    ],
  }),
  curves({
    title: 'Mean latency from the shadow',
    description: 'Mean time from the request to the last byte of the answer. Logarithmic.',
    unit: 's',
    log: true,
    lines: pair('side:shadow_response_seconds:mean_1m'),
  }),
];

const traffic = [
  curves({
    title: "Clients' requests",
    description: "Requests to /qrcode by the side that answered, without the shadow's.",
    unit: 'reqps',
    lines: pair('side:qr_client_requests:rate1m'),
  }),
  curves({
    title: "Split: Rust's share",
    description: 'As set in split.conf, and as measured. A fallback counts as Node.',
    unit: 'percent',
    max: 100,
    lines: [
      ['set', 'ramp_share_percent'],
      ['measured', 'qr:new_share_percent:rate1m'],
    ],
  }),
  states({
    title: 'Ramp',
    description: 'Phase of the last run and verdict of its gates. No data before the first run.',
    lines: [
      ['{{phase}}', 'ramp_phase == 1'],
      ['gates: {{verdict}}', 'ramp_verdict == 1'],
    ],
  }),
  curves({
    title: 'Errors',
    description:
      "Share of answers with a 5xx, as each side counts. Dashed: share of the shadow's requests without an answer or with 502, 503 or 504. nginx sends what Rust answers with 503 to Node.",
    unit: 'percentunit',
    lines: [
      ...pair('side:qr_errors:ratio_rate1m'),
      ...pair('side:shadow_failures:ratio_rate1m', ' for the shadow'),
    ],
  }),
  curves({
    title: 'Fallbacks',
    description: 'Requests that Node answered after Rust failed.',
    unit: 'reqps',
    lines: [['fallback', 'sum(rate(qr_fallback_requests_total[$__rate_interval]))']],
  }),
  curves({
    title: 'Comparisons',
    description: 'Results of the shadow, and requests that it dropped.',
    unit: 'reqps',
    lines: [
      ['{{result}}', 'sum by (result) (rate(shadow_comparisons_total[$__rate_interval]))'],
      ['dropped', 'sum(rate(shadow_dropped_total[$__rate_interval]))'],
    ],
  }),
  curves({
    title: 'Answers by status',
    description: 'All routes of the jobs chosen above.',
    unit: 'reqps',
    width: 12,
    lines: [
      [
        '{{job}} {{status}}',
        `sum by (job, status) (rate(http_requests_total{${CHOSEN}}[$__rate_interval]))`,
      ],
    ],
  }),
  curves({
    title: 'Duration by route, p99',
    description:
      'By the own clocks of the jobs chosen above. Marks are single requests of Rust, with their ids.',
    unit: 's',
    width: 12,
    log: true,
    exemplars: true,
    lines: [
      [
        '{{job}} {{route}}',
        `histogram_quantile(0.99, sum by (job, route, le) (rate(http_request_duration_seconds_bucket{${CHOSEN}}[$__rate_interval]))) >= 0`,
      ],
    ],
  }),
];

const saturation = [
  curves({
    title: 'Requests in flight',
    description: 'Requests in progress at the time of the scrape.',
    unit: 'short',
    lines: [['{{job}}', `sum by (job) (http_requests_in_flight{${CHOSEN}})`]],
  }),
  curves({
    title: 'Event loop lag',
    description: "p99 and mean delay of Node's event loop, which is how long requests wait.",
    unit: 's',
    lines: [
      ['p99 {{instance}}', `nodejs_eventloop_lag_p99_seconds{${CHOSEN}}`],
      ['mean {{instance}}', `nodejs_eventloop_lag_mean_seconds{${CHOSEN}}`],
    ],
  }),
  curves({
    title: "The shadow's queue",
    description: 'Requests waiting to be compared. When the queue is full, the shadow drops more.',
    unit: 'short',
    lines: [['{{instance}}', `shadow_queue_depth{${CHOSEN}}`]],
  }),
  curves({
    title: "nginx' connections",
    description: 'Connections of clients; idle ones are waiting.',
    unit: 'short',
    lines: [
      ['active', `sum(nginx_connections_active{${CHOSEN}})`],
      ['waiting', `sum(nginx_connections_waiting{${CHOSEN}})`],
      ['writing', `sum(nginx_connections_writing{${CHOSEN}})`],
    ],
  }),
  curves({
    title: 'CPU',
    description: 'CPU seconds per second: 1 is one core.',
    unit: 'short',
    lines: [
      ['{{job}}', `sum by (job) (rate(process_cpu_seconds_total{${CHOSEN}}[$__rate_interval]))`],
    ],
  }),
  curves({
    title: 'Scrape',
    description: 'Time that each part takes to answer a scrape.',
    unit: 's',
    lines: [['{{job}}', `max by (job) (scrape_duration_seconds{${CHOSEN}})`]],
  }),
];

export const dashboard = {
  uid: 'qr-gap',
  title: 'GET /qrcode: Node (old) against Rust (new)',
  description:
    'Memory, latency, CPU and bytes of both sides, the traffic between them, and alerts.',
  tags: ['qr'],
  schemaVersion: 39,
  editable: true,
  graphTooltip: 1,
  refresh: '10s',
  time: { from: 'now-15m', to: 'now' },
  timezone: 'browser',
  templating: {
    list: [
      datasourceChoice,
      choice('job', 'Job', 'label_values(up, job)'),
      choice('instance', 'Instance', 'label_values(up{job=~"$job"}, instance)'),
    ],
  },
  annotations: {
    list: [mark('Split moved', 'changes(ramp_share_percent[30s]) > 0', 'Split moved')],
  },
  panels: arrange([
    row('Node over Rust: Node uses this many times as much'),
    ...gap,
    row('Side by side'),
    ...sideBySide,
    row('Traffic'),
    ...traffic,
    row('Saturation'),
    ...saturation,
  ]),
};

/** The file's text. */
export const text = `${JSON.stringify(dashboard, null, 2)}\n`;
export const file = new URL('qr-gap.json', import.meta.url);

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeFileSync(file, text);
