// The dashboard: what each panel shows. `node dashboards/grafana/dashboard.mjs` writes qr-gap.json,
// which is what Grafana loads; lint.mjs tells where the two differ.
//
// Both implementations side by side come from the recording rules, which are about whole
// implementations. What `job` and `instance` choose is in the last two rows.

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
    description: `${description}, Node over Rust. No data where one side has none.`,
    unit: 'suffix:×',
    width: 5,
    lines: [[title, metric]],
  });

const gap = [
  ratio('Memory', 'Resident memory of all processes', 'qr:old_over_new:memory'),
  ratio(
    'Latency',
    'p99 as the shadow sees it, both asked the same',
    'qr:old_over_new:latency_p99',
  ),
  ratio('CPU', 'CPU seconds for 1000 requests', 'qr:old_over_new:cpu'),
  ratio('Bandwidth', 'Mean bytes of a response to the same requests', 'qr:old_over_new:bytes'),
  number({
    title: 'Alerts firing',
    description: 'Each has a runbook in docs/runbooks.',
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
      'The shadow asks both the same question and times both from outside, waits included. Logarithmic.',
    unit: 's',
    log: true,
    lines: quantiles('side:shadow_response_seconds'),
  }),
  curves({
    title: 'Latency by each service',
    description:
      "Each by its own clock, over all its requests. Node's does not run while a request waits for the event loop. Logarithmic.",
    unit: 's',
    log: true,
    lines: quantiles('side:qr_own_duration_seconds'),
  }),
  curves({
    title: 'CPU for 1000 requests',
    description:
      'All CPU of the processes over all their requests, whatever the route. With few requests, mostly the price of being there. Logarithmic.',
    unit: 's',
    log: true,
    lines: pair('side:qr_cpu_seconds_per_1000_requests:rate1m'),
  }),
  curves({
    title: 'Bytes of a response',
    description:
      'Mean size of a body, over the same requests at both; dashed, of the pictures each made for its own clients.',
    unit: 'bytes',
    lines: [
      ...pair('side:qr_response_bytes:mean_1m'),
      ...pair('side:qr_own_png_bytes:mean_1m', ' own'),
    ],
  }),
  curves({
    title: 'Mean latency from the shadow',
    description: 'Mean beside the quantiles above: time from asking to the last byte. Logarithmic.',
    unit: 's',
    log: true,
    lines: pair('side:shadow_response_seconds:mean_1m'),
  }),
];

const traffic = [
  curves({
    title: 'Requests of clients',
    description: "Requests to /qrcode by who answered, without the shadow's own.",
    unit: 'reqps',
    lines: pair('side:qr_client_requests:rate1m'),
  }),
  curves({
    title: "Split: Rust's share",
    description: 'Asked for in split.conf, and as it is. A fallback counts as Node.',
    unit: 'percent',
    max: 100,
    lines: [
      ['asked for', 'ramp_share_percent'],
      ['Rust', 'qr:new_share_percent:rate1m'],
    ],
  }),
  states({
    title: 'Ramp',
    description:
      'What the last run is at, and the verdict of its gates. No data before the first run.',
    lines: [
      ['{{phase}}', 'ramp_phase == 1'],
      ['gates: {{verdict}}', 'ramp_verdict == 1'],
    ],
  }),
  curves({
    title: 'Errors',
    description:
      'Share of answers with 5xx, as each counts; dashed, what the shadow got no answer to, 502 to 504 included. The proxy hands 503 of Rust on to Node.',
    unit: 'percentunit',
    lines: [
      ...pair('side:qr_errors:ratio_rate1m'),
      ...pair('side:shadow_failures:ratio_rate1m', ' for the shadow'),
    ],
  }),
  curves({
    title: 'Fallbacks',
    description: 'Requests that Node answered since Rust had failed them.',
    unit: 'reqps',
    lines: [['fallback', 'sum(rate(qr_fallback_requests_total[$__rate_interval]))']],
  }),
  curves({
    title: 'Comparisons',
    description: 'What the shadow found, and what it had to leave out.',
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
      'By the services of the jobs chosen above. Marks are single requests of Rust, with their ids.',
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
    description: 'Being answered at the moment of the scrape.',
    unit: 'short',
    lines: [['{{job}}', `sum by (job) (http_requests_in_flight{${CHOSEN}})`]],
  }),
  curves({
    title: 'Event loop lag',
    description: 'p99 and mean of how late the event loop of Node is: requests wait that long.',
    unit: 's',
    lines: [
      ['p99 {{instance}}', `nodejs_eventloop_lag_p99_seconds{${CHOSEN}}`],
      ['mean {{instance}}', `nodejs_eventloop_lag_mean_seconds{${CHOSEN}}`],
    ],
  }),
  curves({
    title: "Shadow's queue",
    description: 'Requests that wait to be compared; past its length they are dropped.',
    unit: 'short',
    lines: [['{{instance}}', `shadow_queue_depth{${CHOSEN}}`]],
  }),
  curves({
    title: "nginx' connections",
    description: 'Of clients and to upstreams; idle ones are waiting.',
    unit: 'short',
    lines: [
      ['active', `sum(nginx_connections_active{${CHOSEN}})`],
      ['waiting', `sum(nginx_connections_waiting{${CHOSEN}})`],
      ['writing', `sum(nginx_connections_writing{${CHOSEN}})`],
    ],
  }),
  curves({
    title: 'CPU',
    description: 'CPU seconds used in a second: 1 is one core.',
    unit: 'short',
    lines: [
      ['{{job}}', `sum by (job) (rate(process_cpu_seconds_total{${CHOSEN}}[$__rate_interval]))`],
    ],
  }),
  curves({
    title: 'Scrape',
    description: 'How long each part takes to give its metrics.',
    unit: 's',
    lines: [['{{job}}', `max by (job) (scrape_duration_seconds{${CHOSEN}})`]],
  }),
];

export const dashboard = {
  uid: 'qr-gap',
  title: 'QR codes: Node against Rust',
  description:
    'What the Rust service takes against the Node app on the same requests, and whether anything is wrong.',
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
    row('Node over Rust: how many times as much'),
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
