/** Wires the page: queries Prometheus every few seconds while the page is visible. */
import { Chart } from './chart.js';
import { rangeControl, themeControl } from './controls.js';
import { gridFor, onGrid, scrapedOn } from './grid.js';
import { say } from './parts.js';
import { history, time, Unreachable } from './prometheus.js';
import { Ratio } from './ratio.js';
import { State } from './state.js';
import { timeOf } from './units.js';

const REFRESH_MS = 5000;
const notice = document.getElementById('notice');
const updated = document.getElementById('updated');

const queries = await (await fetch('queries.json')).json();
const ratios = queries.ratios.map((spec) => new Ratio(spec));
const charts = queries.charts.map((spec) => new Chart(spec));
const state = new State(queries);
document.getElementById('ratios').append(...ratios.map(({ element }) => element));
document.getElementById('charts').append(...charts.map(({ element }) => element));
for (const chart of charts) chart.mount();

themeControl(() => {
  for (const chart of charts) chart.redraw();
});
const range = rangeControl(start);
/** When Prometheus last answered every query, by its clock; before that, when it first answered. */
let reachedAt = null;
let running = new AbortController();

document.addEventListener('visibilitychange', () => {
  if (document.hidden) running.abort();
  else start();
});
start();

/** Aborts the running refresh and starts over. */
async function start() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  let drawn = null;
  while (!signal.aborted) {
    try {
      drawn = await refresh(drawn, signal);
    } catch (error) {
      if (!signal.aborted) showTrouble(error);
    }
    await pause(REFRESH_MS, signal);
  }
}

/** @returns the end of the charts' grid; the charts have no new data until it moves */
async function refresh(drawn, signal) {
  // First and alone: if Prometheus is down, one request shows it.
  const now = await time(signal);
  reachedAt ??= now;
  const grid = gridFor(range.seconds(), now);
  const all = [...ratios.map((ratio) => ratio.refresh(signal)), state.refresh(now, signal)];
  if (grid.end !== drawn) all.push(refreshCharts(grid, signal));
  await Promise.all(all);
  reachedAt = now;
  showTrouble(null);
  say(updated, `As of ${timeOf(now)}, refreshed every ${REFRESH_MS / 1000} s.`);
  return grid.end;
}

async function refreshCharts(grid, signal) {
  const wasScraped = scrapedOn(await history(queries.scraped.expr, grid, signal), grid);
  await Promise.all(charts.map((chart) => refreshChart(chart, grid, wasScraped, signal)));
}

async function refreshChart(chart, grid, wasScraped, signal) {
  try {
    const lines = chart.spec.lines.map(({ expr }) => history(expr, grid, signal));
    const found = await Promise.all(lines);
    chart.show(
      grid,
      found.map((pairs) => onGrid(pairs, grid, wasScraped)),
    );
  } catch (error) {
    if (signal.aborted || error instanceof Unreachable) throw error;
    chart.fail(error.message);
  }
}

function showTrouble(error) {
  document.body.classList.toggle('stale', error !== null);
  notice.hidden = error === null;
  if (error === null) return say(notice, '');
  const what =
    error instanceof Unreachable
      ? 'Prometheus cannot be reached.'
      : `Prometheus refused a query: ${error.message}`;
  const since = reachedAt === null ? '' : ` The page shows data from ${timeOf(reachedAt)}.`;
  say(notice, `${what}${since} Trying again every ${REFRESH_MS / 1000} s.`);
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
  });
}
