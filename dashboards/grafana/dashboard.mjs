// The dashboard's panels. `node dashboards/grafana/dashboard.mjs` writes old-against-new.json, which
// Grafana loads; lint.mjs fails if the two differ. What the live page shows too is in its queries.json.
//
// The first rows repeat for each chosen route; the second and third only if its servers export their own metrics, or
// count sessions. All their panels use recorded rules or metrics with a label `route`. The variables `job` and
// `instance` apply only to the row of the parts.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { filled, ofBothSides } from '../live/routes.js';
import { arrange, choice, curves, datasourceChoice, mark, numbers, row, states } from './model.mjs';

/** In a repeated row, Grafana sets the variable to one of its values, and escapes it for `=~`. */
const ROUTE = 'route=~"$route"';
const SESSIONS = 'route=~"$sessions"';
const CHOSEN = 'job=~"$job",instance=~"$instance"';

const RULES = new URL('../prometheus/rules/', import.meta.url);
const alertNames = readdirSync(RULES)
  .sort()
  .flatMap((name) => [...readFileSync(new URL(name, RULES), 'utf8').matchAll(/- alert: (\w+)/g)])
  .map(([, name]) => name);

const live = JSON.parse(readFileSync(new URL('../live/queries.json', import.meta.url), 'utf8'));
const UNITS = {
  bytes: 'bytes',
  seconds: 's',
  'per second': 'reqps',
  percent: 'percent',
  count: 'short',
};

/** A chart of the live page as a panel. */
function shared(id, unit) {
  const chart = live.charts.find((it) => it.id === id);
  const variable = chart.of === 'sessions' ? 'sessions' : chart.detail ? 'detailed' : 'route';
  const both = { ...chart, lines: chart.lines.flatMap(ofBothSides) };
  const { title, about, more, scale, max, lines } = filled(both, {
    name: '',
    old: 'old',
    new: 'new',
  });
  return curves({
    title,
    description: [`${about}.`, more].filter(Boolean).join(' '),
    unit: unit ?? UNITS[chart.unit],
    log: scale === 'log',
    max,
    lines: lines.map(({ name, expr, ...look }) => [
      name,
      expr.replaceAll('route=""', `route=~"$${variable}"`),
      look,
    ]),
  });
}

const now = [
  numbers({
    title: 'Old over new',
    description:
      'How many times as much the old side uses. Latency and bytes: measured by the shadow on the same requests. Memory and CPU: only if the servers export them. A number is missing unless both sides have data.',
    unit: 'suffix:×',
    width: 16,
    lines: live.ratios.map(({ what, expr }) => [
      what.replace(/^the (.)/, (_, first) => first.toUpperCase()),
      expr.replace('route=', 'route=~'),
    ]),
  }),
  numbers({
    title: 'Split',
    description: "The new side's share: as ramp set it, and as the edge measured it.",
    unit: 'percent',
    width: 8,
    lines: [
      ['set', `max(ramp_share_percent{${ROUTE}})`],
      ['measured', `route:new_share_percent:rate1m{${ROUTE}}`],
    ],
  }),
];

const sideBySide = ['latency', 'client-latency', 'bytes'].map((id) => shared(id));

const traffic = [
  shared('traffic'),
  shared('split'),
  states({
    title: 'Ramp',
    description: 'Phase of the last run and verdict of its gates. No data before the first run.',
    lines: [
      ['{{phase}}', `max by (phase) (ramp_phase{${ROUTE}}) == 1`],
      ['gates: {{verdict}}', `max by (verdict) (ramp_verdict{${ROUTE}}) == 1`],
    ],
  }),
  shared('errors'),
  shared('fallbacks'),
  curves({
    title: 'Comparisons',
    description: 'Results of the shadow, and requests that it dropped.',
    unit: 'reqps',
    lines: [
      [
        '{{result}}',
        `sum by (result) (rate(shadow_comparisons_total{${ROUTE}}[$__rate_interval]))`,
      ],
      ['dropped', `sum(rate(shadow_dropped_total{${ROUTE}}[$__rate_interval]))`],
    ],
  }),
];

const details = ['memory', 'cpu', 'own-latency'].map((id) => shared(id));

const sessions = [
  curves({
    title: 'Sessions by end',
    description: 'Sessions that ended: complete, left by a client, or cut by the server.',
    unit: 'ops',
    lines: [
      ['{{side}} {{end}}', `sum by (side, end) (route_side_end:sessions:rate1m{${SESSIONS}})`],
    ],
  }),
  curves({
    title: 'Clients without a partner',
    description:
      'Clients that left while they waited, waited too long, or were sent away by a server that shut down.',
    unit: 'ops',
    lines: [
      ['{{side}} {{end}}', `sum by (side, end) (route_side_end:unpaired:rate1m{${SESSIONS}})`],
    ],
  }),
  shared('session-bytes', 'Bps'),
  shared('sessions-open'),
];

const parts = [
  numbers({
    title: 'Alerts firing',
    description: 'Each alert has a runbook in docs/runbooks.',
    unit: 'short',
    width: 8,
    height: 8,
    decimals: 0,
    textMode: 'value',
    steps: [
      [null, 'green'],
      [1, 'red'],
    ],
    lines: [
      [
        'firing',
        `count(ALERTS{alertname=~"${alertNames.join('|')}",alertstate="firing"}) or vector(0)`,
      ],
    ],
  }),
  curves({
    title: 'Answers by status',
    description: 'Counted by the jobs chosen above, over all paths.',
    unit: 'reqps',
    lines: [
      [
        '{{job}} {{status}}',
        `sum by (job, status) (rate(http_requests_total{${CHOSEN}}[$__rate_interval]))`,
      ],
    ],
  }),
  curves({
    title: 'Duration by path, p99',
    description: 'Measured by the jobs chosen above. Marks are single requests, with their ids.',
    unit: 's',
    log: true,
    exemplars: true,
    lines: [
      [
        '{{job}} {{route}}',
        `histogram_quantile(0.99, sum by (job, route, le) (rate(http_request_duration_seconds_bucket{${CHOSEN}}[$__rate_interval]))) >= 0`,
      ],
    ],
  }),
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
    lines: [['{{state}}', `sum by (state) (edge_nginx_connections{${CHOSEN}})`]],
  }),
  curves({
    title: 'Requests that the edge lost',
    description: 'Requests that nginx counted and that never became a line of its log.',
    unit: 'reqps',
    lines: [['{{instance}}', `rate(edge_lost_total{${CHOSEN}}[$__rate_interval])`]],
  }),
  curves({
    title: 'The edge is behind',
    description: 'Bytes of the access log that the edge has not read yet.',
    unit: 'bytes',
    lines: [['{{instance}}', `edge_unread_bytes{${CHOSEN}}`]],
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
    title: 'Memory of the parts',
    description: 'Resident memory, by job.',
    unit: 'bytes',
    lines: [['{{job}}', `sum by (job) (process_resident_memory_bytes{${CHOSEN}})`]],
  }),
  curves({
    title: 'Scrape',
    description: 'Time that each part takes to answer a scrape.',
    unit: 's',
    lines: [['{{job}}', `max by (job) (scrape_duration_seconds{${CHOSEN}})`]],
  }),
];

const share = (when = '') => `max by (route) (ramp_share_percent{${ROUTE}} ${when})`;
/** The share as a label, because the text of a mark can show only labels. */
const shareAs = (label, when) => `count_values by (route) ("${label}", ${share(when)})`;

export const dashboard = {
  uid: 'old-against-new',
  title: 'Routes: old against new',
  description:
    'Latency, bytes and errors of both sides of each route, the traffic between them, and alerts.',
  tags: ['routes'],
  schemaVersion: 39,
  editable: true,
  graphTooltip: 1,
  refresh: '10s',
  time: { from: 'now-15m', to: 'now' },
  timezone: 'browser',
  templating: {
    list: [
      datasourceChoice,
      choice('route', 'Route', 'label_values(route_side:edge_requests:rate1m, route)'),
      {
        ...choice(
          'detailed',
          'Routes with metrics of their servers',
          `label_values(route_side:resident_memory_bytes:sum{${ROUTE}}, route)`,
        ),
        hide: 2, // it follows from `route`
      },
      {
        ...choice(
          'sessions',
          'Routes of sessions',
          `label_values(route_side:sessions_open:sum{${ROUTE}}, route)`,
        ),
        hide: 2, // it follows from `route`
      },
      choice('job', 'Job', 'label_values(up, job)'),
      choice('instance', 'Instance', 'label_values(up{job=~"$job"}, instance)'),
    ],
  },
  annotations: {
    list: [
      mark(
        'Split moved',
        `${shareAs('to')} * on (route) group_left (from) ${shareAs('from', 'offset 30s')} and on (route) ${share()} != ${share('offset 30s')}`,
        '{{route}}: {{from}} % to {{to}} %',
      ),
    ],
  },
  panels: arrange([
    row('$route', 'route'),
    ...now,
    ...sideBySide,
    ...traffic,
    row("$detailed, by its servers' own metrics", 'detailed'),
    ...details,
    row('$sessions, its sessions', 'sessions'),
    ...sessions,
    row('Parts'),
    ...parts,
  ]),
};

/** The file's text. */
export const text = `${JSON.stringify(dashboard, null, 2)}\n`;
export const file = new URL('old-against-new.json', import.meta.url);

if (import.meta.url === pathToFileURL(process.argv[1]).href) writeFileSync(file, text);
