/**
 * Prometheus' HTTP API, behind the same server as the page.
 *
 * Many queries are joined into one, so each viewer costs Prometheus only a few requests every 5 s, however many lines
 * there are. A failure is either `Unreachable` (Prometheus is down or starting) or an `Error` with Prometheus' message
 * (it refused the query).
 */

const API = 'prometheus/api/v1/';
const TIMEOUT_MS = 4000;
/** nginx answers these when Prometheus is down, and Prometheus when it is not ready. */
const AWAY = new Set([502, 503, 504]);
/** The label that tells in a joined answer which query a series belongs to; no metric here has it. */
const LABEL = 'asked_as';

export class Unreachable extends Error {}

/**
 * The current samples of each query, by the query's name.
 * @param {Record<string, string>} queries by name
 * @returns {Promise<Record<string, {metric: Record<string, string>, value: number | null}[]>>}
 */
export async function samples(queries, signal) {
  const { result } = await ask('query', signal, { query: joined(queries) });
  return separated(queries, result, ({ metric, value }) => ({ metric, value: numberOf(value[1]) }));
}

/**
 * Times in seconds and values of the one series of each query, by the query's name.
 * @param {Record<string, string>} queries by name
 * @returns {Promise<Record<string, [number, number | null][]>>}
 */
export async function histories(queries, { start, end, step }, signal) {
  const { result } = await ask('query_range', signal, { query: joined(queries), start, end, step });
  const numbers = ({ values }) => values.map(([time, value]) => [time, numberOf(value)]);
  const found = separated(queries, result, numbers);
  return Object.fromEntries(
    Object.entries(found).map(([name, series]) => {
      if (series.length < 2) return [name, series[0] ?? []];
      throw new Error(`${series.length} series where one was expected: ${queries[name]}`);
    }),
  );
}

/** @returns {Promise<{labels: object, annotations: object, state: string, activeAt: string}[]>} */
export async function alerts(signal) {
  return (await ask('alerts', signal)).alerts;
}

/** One query in place of many. `or` keeps all their series, for the label tells them apart. */
export function joined(queries) {
  return Object.entries(queries)
    .map(([name, expr]) => `label_replace(${expr}, "${LABEL}", "${name}", "", "")`)
    .join(' or ');
}

/** The series of a joined answer, by their query's name; a query without any has an empty list. */
export function separated(queries, series, read) {
  const found = Object.fromEntries(Object.keys(queries).map((name) => [name, []]));
  for (const one of series) found[one.metric[LABEL]].push(read(one));
  return found;
}

/** Sends parameters as a form, because a joined query is too long for nginx' limit on request lines. */
async function ask(path, signal, parameters) {
  const form = parameters && { method: 'POST', body: new URLSearchParams(parameters) };
  const ends = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let answer;
  try {
    const response = await fetch(API + path, { ...form, signal: ends, cache: 'no-store' });
    if (AWAY.has(response.status)) throw new Unreachable(`HTTP ${response.status}`);
    answer = await response.json();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Unreachable ? error : new Unreachable(error.message);
  }
  if (answer.status !== 'success') throw new Error(answer.error ?? 'no reason given');
  return answer.data;
}

/** NaN and infinities come from divisions by zero and become null. */
function numberOf(text) {
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}
