/** The page's texts about a run: what its phase means, what to type, and what its gates say. */
import { ageOf, digits, timeOf } from './units.js';

/** A live process sends a heartbeat at least every 5 s, and Prometheus scrapes as often. */
const SILENT_AFTER_SECONDS = 30;
const LIST = new Intl.ListFormat('en');
const VERDICTS = { fail: 'fails', inconclusive: 'is undecided', pass: 'passes' };

const BEGIN = ['ramp', 'moves the traffic in steps'];
const GO_ON = ['ramp', 'goes on with this step'];
const BEGIN_AGAIN = ['ramp', 'begins a new run'];
const GO_BACK = ['abort', 'goes back to where the run began'];
const SAY_WHY = ['status', 'says why'];
const NO_PROCESS = 'Its share stays for now, and no gate is judged.';
const WENT_BACK = 'The traffic is back where the run began.';

/** By the `ramp_phase` label: the headline, a sentence, and what to type, with its effect. */
const PHASES = {
  none: ['No run', '', [BEGIN]],
  whole: ['No run', '', []],
  ordered: ['Ordered', 'The Deployment ramp will carry it out.', [SAY_WHY, GO_BACK]],
  holding: ['Under way', '', []],
  paused: [
    'Paused',
    'The share stays; a failed gate still takes it back.',
    [['resume', 'goes on'], GO_BACK],
  ],
  going_back: ['Going back', '', []],
  inconclusive: ['Ended: too little data to judge', NO_PROCESS, [SAY_WHY, GO_ON, GO_BACK]],
  interrupted: ['Ended by a signal', NO_PROCESS, [GO_ON, GO_BACK]],
  lost: ['Lost: its process fell silent', WENT_BACK, [SAY_WHY, BEGIN_AGAIN]],
  stopped: ['Ended: the route was stopped', '', [SAY_WHY, BEGIN_AGAIN]],
  rolled_back: ['Rolled back', WENT_BACK, [SAY_WHY, BEGIN_AGAIN]],
  aborted: ['Aborted', WENT_BACK, [BEGIN_AGAIN]],
  superseded: ['Ended: someone set the split by hand', '', [BEGIN_AGAIN]],
  done: ['Done: every step has passed', '', []],
};
const ASKS_OTHERWISE =
  'the old side answers the shadow differently than clients, so matches prove too little. Name the request headers that it needs in shadow.send_headers of the route file.';
const HAVE_A_PROCESS = new Set(['holding', 'paused', 'going_back']);

/** The command for a route, and what follows it. */
export function commandFor({ name }, command, ...settings) {
  return ['carve', command, name, ...settings].join(' ');
}

/**
 * @param {string} phase without a run `whole` if the new side has all traffic, else `none`: ramp drops its phase when
 * someone sets the share by hand
 * @param {number | null} silentSeconds since the last heartbeat
 * @param {boolean} isStopped whether the route is stopped now
 * @returns {{ headline: string, text: string, isBad: boolean, hasProcess: boolean, orders: [string, string][] }}
 * `orders` are commands and what they do
 */
export function runSays(phase, silentSeconds, isStopped) {
  const [headline, text, orders] = PHASES[phase] ?? [phase, '', [SAY_WHY]];
  const isBad = ['inconclusive', 'interrupted', 'lost', 'rolled_back', 'stopped'].includes(phase);
  const isSilent = silentSeconds === null || silentSeconds > SILENT_AFTER_SECONDS;
  const hasProcess = HAVE_A_PROCESS.has(phase) && !isSilent;
  // No run may begin before the stop is cleared; the notice says how.
  if (isStopped) {
    const why = orders.filter(([command]) => command === 'status');
    return { headline, text, isBad, hasProcess, orders: why };
  }
  if (HAVE_A_PROCESS.has(phase) && isSilent) {
    const since = silentSeconds === null ? '' : ` for ${ageOf(silentSeconds)}`;
    return {
      headline: 'Silent: its process may be dead',
      text: `No heartbeat${since}. ${NO_PROCESS}`,
      isBad: true,
      hasProcess,
      orders: [SAY_WHY, GO_ON, GO_BACK],
    };
  }
  return { headline, text, isBad, hasProcess, orders };
}

/** The verdict on a step, counted from 1. */
export function stepSays(step, steps, verdict) {
  const judged = verdict === null ? 'is not judged yet' : (VERDICTS[verdict] ?? verdict);
  return `Step ${step} of ${steps} ${judged}.`;
}

/**
 * What happens next, while nobody types anything.
 * @param {object} run
 * @param {string} run.phase as for `runSays`, which also returns `hasProcess`
 * @param {string} run.served what the split says, such as `50% to Rust`
 * @param {string | null} run.after the same of the next step; null after the last
 * @param {number | null} run.endsAt when the step ends at the earliest; null if ramp does not say
 * @param {string[]} run.undecided the gates that need more data
 * @param {number} now
 */
export function nextSays({ phase, isStopped, hasProcess, served, after, endsAt, undecided }, now) {
  if (isStopped) return 'Next: nothing, until the stop is cleared.';
  if (phase === 'ordered') return 'Next: the Deployment ramp carries it out.';
  if (phase === 'whole') return `All done: ${served}.`;
  if (phase === 'done') return `All done: ${served}, and every step has passed.`;
  if (!hasProcess) return 'Next: nothing by itself.';
  if (phase === 'paused') return 'Next: nothing, until somebody ends the pause.';
  if (phase === 'going_back') return 'Next: the traffic is back where the run began.';
  const what = after ?? 'the run is done';
  const at = endsAt !== null && endsAt - now >= 1 ? timeOf(endsAt) : null;
  if (undecided.length > 0) {
    const pass = `${LIST.format(undecided)} ${undecided.length === 1 ? 'passes' : 'pass'}`;
    return `Next: ${what} once ${pass}${at === null ? '' : `, not before ${at}`}.`;
  }
  return `Next: ${what} ${at === null ? 'once every gate passes' : `at ${at} if every gate still passes`}.`;
}

/**
 * A gate's text: its verdict, and how far it is from its limit. A test also has an interval: the run goes back once the
 * whole interval is above the limit.
 */
export function gateSays({ gate, verdict, value, limit, lower = null, upper = null }) {
  const judged = `${gate} ${VERDICTS[verdict] ?? verdict}`;
  if (gate === 'shadow-answers' && verdict === 'inconclusive')
    return `${judged}: ${ASKS_OTHERWISE}`;
  if (value === null) return judged;
  if (limit === null) return `${judged}: ${digits(value)}`;
  if (lower === null && upper === null)
    return `${judged}: ${digits(value)} (limit ${digits(limit)})`;
  return `${judged}: new ${points(value)} points, ${bounds(lower, upper)} (limit ${points(limit)})`;
}

/** The bounds of a difference; at least one of them is known. */
function bounds(lower, upper) {
  if (lower === null) return `at most ${points(upper)}`;
  return upper === null
    ? `at least ${points(lower)}`
    : `between ${points(lower)} and ${points(upper)}`;
}

/**
 * Positions of a test's band, estimate and limit on a strip from -2 to +2 limits, in percent; null for a gate that is
 * not a test. A bound that is not known yet is at the strip's end.
 * @returns {{ from: number, to: number, estimate: number, limit: number } | null}
 */
export function bandOf({ value, limit, lower = null, upper = null }) {
  if (value === null || !(limit > 0) || (lower === null && upper === null)) return null;
  const at = (ratio) => 50 + 50 * Math.max(-1, Math.min(1, ratio / (2 * limit)));
  return {
    from: at(lower ?? -Infinity),
    to: at(upper ?? Infinity),
    estimate: at(value),
    limit: at(limit),
  };
}

/** A difference of two ratios in percentage points. */
function points(ratio) {
  return `${ratio < 0 ? '−' : '+'}${Math.abs(100 * ratio).toFixed(2)}`;
}

/**
 * A line for each class of answers that clients got: how often, how often the shadow compared it, and what follows. If
 * none of n differed, fewer than 3 of as many do (with 95 % certainty). Those never compared come first.
 * @param {{ metric: { class: string, count: string }, value: number }[]} found
 */
export function classesSay(found) {
  const counts = (name) =>
    new Map(
      found
        .filter(({ metric }) => metric.count === name)
        .map(({ metric, value }) => [metric.class, Math.round(value)]),
    );
  const [seen, compared, differed] = ['seen', 'compared', 'differed'].map(counts);
  const rows = [...seen].filter(([, count]) => count > 0);
  const all = (name) => compared.get(name) ?? 0;
  const bad = (name) => differed.get(name) ?? 0;
  rows.sort(([a, of], [b, to]) => (all(a) > 0) - (all(b) > 0) || to - of);
  return rows.map(([name, count]) => {
    const then =
      bad(name) > 0
        ? `${bad(name)} differed`
        : `below ${((100 * 3) / all(name)).toFixed(2)}% differ`;
    const judged = all(name) === 0 ? 'never compared' : `${all(name)} compared, ${then}`;
    return `${name}: ${count} for clients, ${judged}`;
  });
}

/** Sorts gates: those that fail first, then the undecided. */
export function byVerdict(gates) {
  const order = Object.keys(VERDICTS);
  return gates.toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
}
