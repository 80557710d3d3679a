/** What the page says of a run: what its phase means, what to type then, and what its gates say. */
import { ageOf, digits } from './units.js';

/** A live process beats every 5 s or oftener, and Prometheus scrapes as often. */
const SILENT_AFTER_SECONDS = 30;
const VERDICTS = { fail: 'fails', inconclusive: 'is undecided', pass: 'passes' };

const GO_ON = ['ramp', 'goes on with this step'];
const BEGIN_AGAIN = ['ramp', 'begins a new run'];
const GO_BACK = ['abort', 'goes back to where the run began'];
const SAY_WHY = ['status', 'says why'];
const NO_PROCESS = 'Its share stays for now, and no gate is judged.';
const WENT_BACK = 'The traffic is back where the run began.';

/** By the `ramp_phase` label: the headline, a sentence, and what to type, with its effect. */
const PHASES = {
  ordered: ['Ordered', 'The Deployment ramp is to carry it out.', [SAY_WHY, GO_BACK]],
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
  'the old side answers clients otherwise than the shadow, so its matches prove nothing. Name the request headers that it needs in shadow.send_headers of the route file.';
const HAVE_A_PROCESS = new Set(['holding', 'paused', 'going_back']);

/** The command for a route, and what follows it. */
export function commandFor({ name }, command, ...settings) {
  return ['carve', command, name, ...settings].join(' ');
}

/**
 * @param {string} phase
 * @param {number | null} silentSeconds since the last heartbeat
 * @param {boolean} isStopped whether the route is stopped now
 * @returns {{ headline: string, text: string, isBad: boolean, orders: [string, string][] }} `orders` are
 * commands and what they do
 */
export function runSays(phase, silentSeconds, isStopped) {
  const [headline, text, orders] = PHASES[phase] ?? [phase, '', [SAY_WHY]];
  const isBad = ['inconclusive', 'interrupted', 'lost', 'rolled_back', 'stopped'].includes(phase);
  // No run may begin before the stop is cleared; the notice says how.
  if (isStopped) {
    return { headline, text, isBad, orders: orders.filter(([command]) => command === 'status') };
  }
  if (
    HAVE_A_PROCESS.has(phase) &&
    (silentSeconds === null || silentSeconds > SILENT_AFTER_SECONDS)
  ) {
    const since = silentSeconds === null ? '' : ` for ${ageOf(silentSeconds)}`;
    return {
      headline: 'Silent: its process may be dead',
      text: `No heartbeat${since}. ${NO_PROCESS}`,
      isBad: true,
      orders: [SAY_WHY, GO_ON, GO_BACK],
    };
  }
  return { headline, text, isBad, orders };
}

/**
 * The verdict on a step, and what follows while a run holds it.
 * @param {number} step from 1
 * @param {number} steps how many there are
 * @param {string | null} verdict
 * @param {{ share: number | null, seconds: number } | null} next the next step's share, none after the
 * last step, and the time left to hold this one; null if no run holds it
 */
export function stepSays(step, steps, verdict, next) {
  const judged = verdict === null ? 'is not judged yet' : (VERDICTS[verdict] ?? verdict);
  const says = `Step ${step} of ${steps} ${judged}.`;
  if (next === null) return says;
  const then = next.share === null ? 'the run ends' : `${digits(next.share)}%`;
  return `${says} Then ${then}, ${next.seconds >= 1 ? `in ${ageOf(next.seconds)} at the earliest` : 'once it passes'}.`;
}

/**
 * What a gate says: its verdict, and how far it is from its limit. A test has an interval too: the run goes back once all
 * of it is above the limit.
 */
export function gateSays({ gate, verdict, value, limit, lower = null, upper = null }) {
  const judged = `${gate} ${VERDICTS[verdict] ?? verdict}`;
  if (gate === 'shadow-answers' && verdict === 'inconclusive')
    return `${judged}: ${ASKS_OTHERWISE}`;
  if (value === null) return judged;
  if (limit === null) return `${judged}: ${digits(value)}`;
  if (lower === null && upper === null)
    return `${judged}: ${digits(value)} (limit ${digits(limit)})`;
  const between = `between ${points(lower)} and ${points(upper)}`;
  return `${judged}: new ${points(value)} points, ${between} (limit ${points(limit)})`;
}

/**
 * Where a test's band, its estimate and its limit lie on a strip from -2 to +2 limits, in percent; null for a gate. An end
 * that is not known yet lies at the strip's.
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
  if (ratio === null) return '?';
  return `${ratio < 0 ? '−' : '+'}${Math.abs(100 * ratio).toFixed(2)}`;
}

/** Sorts gates: those that fail first, then the undecided. */
export function byVerdict(gates) {
  const order = Object.keys(VERDICTS);
  return gates.toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
}
