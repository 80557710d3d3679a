// Checks that old-against-new.json is what dashboard.mjs writes, that it keeps the conventions, and that
// Prometheus can parse every query of every screen. Prints one line per problem, then exits with 1.
//
//     node dashboards/grafana/lint.mjs

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file, text } from './dashboard.mjs';

const LIVE_PAGE = new URL('../live/queries.json', import.meta.url);
const problems = [];

function checkPanels(panels) {
  const shown = panels.filter(({ type }) => type !== 'row');
  const titles = shown.map(({ title, gridPos }) => `${title} at ${gridPos.y}`);
  if (new Set(titles).size < titles.length) problems.push('two panels have the same title');
  for (const { expr } of shown.flatMap(({ targets }) => targets)) {
    if (/rate\(.*\[(?!\$__rate_interval)/.test(expr)) {
      problems.push(`rate() without $__rate_interval: ${expr}`);
    }
  }
}

/** Every `expr` in a file, at any depth. */
function queriesIn(value) {
  if (value === null || typeof value !== 'object') return [];
  const own = typeof value.expr === 'string' ? [value.expr] : [];
  return [...own, ...Object.values(value).flatMap(queriesIn)];
}

/** Replaces variables by values, so that promtool can parse the query. */
const withoutVariables = (expr) =>
  expr
    .replaceAll('$__rate_interval', '1m')
    .replaceAll(/\$(route|detailed|sessions|job|instance)\b/g, '.+');

/** Makes a rule of each query, because promtool parses only rules. */
function checkQueries(queries) {
  const folder = mkdtempSync(join(tmpdir(), 'queries-'));
  const rules = queries.map((expr, index) => ({ record: `query_${index}`, expr }));
  const rulesFile = join(folder, 'queries.yml');
  // JSON is YAML.
  writeFileSync(rulesFile, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  const run = spawnSync('promtool', ['check', 'rules', rulesFile], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  if (run.error) problems.push(`promtool: ${run.error.message}`);
  else if (run.status !== 0) problems.push(...run.stderr.split('\n').filter((line) => line.trim()));
}

const committed = existsSync(file) ? readFileSync(file, 'utf8') : '{}';
if (committed !== text) {
  problems.push('old-against-new.json is out of date; run: node dashboards/grafana/dashboard.mjs');
}
checkPanels(JSON.parse(text).panels);
const screens = [
  JSON.parse(text),
  existsSync(LIVE_PAGE) && JSON.parse(readFileSync(LIVE_PAGE, 'utf8')),
];
const queries = queriesIn(screens).map(withoutVariables);
checkQueries(queries);

for (const problem of problems) console.error(`dashboards: ${problem}`);
if (problems.length > 0) process.exit(1);
console.log(`The dashboard keeps its conventions; ${queries.length} queries parse.`);
