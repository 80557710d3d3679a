/**
 * Prometheus' HTTP API, behind the same server as the page.
 *
 * A failure is either `Unreachable` (Prometheus is down or starting) or an `Error` with Prometheus'
 * message (it refused the query).
 */

const API = 'prometheus/api/v1/';
const TIMEOUT_MS = 4000;
/** nginx answers these when Prometheus is down, and Prometheus when it is not ready. */
const AWAY = new Set([502, 503, 504]);

export class Unreachable extends Error {}

/** Prometheus' clock in seconds, because this device's may be wrong. */
export async function time(signal) {
  return Number((await ask('query', { query: 'time()' }, signal)).result[1]);
}

/** @returns {Promise<{metric: Record<string, string>, value: number | null}[]>} the current sample of each series */
export async function samples(expr, signal) {
  const { result } = await ask('query', { query: expr }, signal);
  return result.map(({ metric, value }) => ({ metric, value: numberOf(value[1]) }));
}

/** @returns {Promise<[number, number | null][]>} times in seconds and values of the one series */
export async function history(expr, { start, end, step }, signal) {
  const { result } = await ask('query_range', { query: expr, start, end, step }, signal);
  if (result.length > 1) throw new Error(`${result.length} series where one was expected: ${expr}`);
  return (result[0]?.values ?? []).map(([time, value]) => [time, numberOf(value)]);
}

/** @returns {Promise<{labels: object, annotations: object, state: string, activeAt: string}[]>} */
export async function alerts(signal) {
  return (await ask('alerts', {}, signal)).alerts;
}

async function ask(path, parameters, signal) {
  const url = `${API}${path}?${new URLSearchParams(parameters)}`;
  const ends = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let answer;
  try {
    const response = await fetch(url, { signal: ends, cache: 'no-store' });
    if (AWAY.has(response.status)) throw new Unreachable(`HTTP ${response.status}`);
    answer = await response.json();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Unreachable ? error : new Unreachable(error.message);
  }
  if (answer.status !== 'success') throw new Error(answer.error ?? 'no reason given');
  return answer.data;
}

/** NaN and infinities come from divisions by zero: null, no number to show. */
function numberOf(text) {
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}
