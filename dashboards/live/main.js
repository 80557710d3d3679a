/** Wires the page: queries Prometheus every few seconds while the page is visible. */
import { Board } from './board.js';
import { rangeControl, routeControl, themeControl } from './controls.js';
import { load } from './load.js';
import { say } from './parts.js';
import { Unreachable } from './prometheus.js';
import { timeOf } from './units.js';

const REFRESH_MS = 5000;
const notice = document.getElementById('notice');
const updated = document.getElementById('updated');

const [queries, routes] = await loadAll('queries.json', 'routes.json');
const route = routeControl(routes, () => {
  board.remove();
  board = boardOf(route.chosen());
  reachedAt = null;
  start();
});
let board = boardOf(route.chosen());
themeControl(() => board.redraw());
const range = rangeControl(start);
/** When Prometheus last answered every query, by Prometheus' clock. */
let reachedAt = null;
let running = new AbortController();

document.addEventListener('visibilitychange', () => {
  if (document.hidden) running.abort();
  else start();
});
if (!document.hidden) start();

function loadAll(...files) {
  const problems = new Map();
  const report = (file) => (problem) => {
    if (problem === null) problems.delete(file);
    else problems.set(file, problem);
    notice.hidden = problems.size === 0;
    say(notice, [...problems.values()].join(' '));
  };
  return Promise.all(files.map((file) => load(file, report(file))));
}

function boardOf(chosen) {
  return new Board(queries, chosen);
}

/** Aborts the running refresh and starts over. */
async function start() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  while (!signal.aborted) {
    try {
      await refresh(signal);
    } catch (error) {
      if (!signal.aborted) showTrouble(error);
    }
    await pause(REFRESH_MS, signal);
  }
}

async function refresh(signal) {
  const now = await board.refresh(range.seconds(), signal);
  reachedAt = now;
  showTrouble(null);
  say(updated, `As of ${timeOf(now)}, refreshed every ${REFRESH_MS / 1000} s.`);
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

/** Waits, but not longer than the signal lasts. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', resolve, { once: true });
  });
}
