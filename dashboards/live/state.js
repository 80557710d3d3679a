/** The state of the route: a stop in force, what happens next, and the cards of the split, its ramp and the alerts. */
import { make, partsOf, say } from './parts.js';
import {
  bandOf,
  byVerdict,
  classesSay,
  commandFor,
  gateSays,
  nextSays,
  runSays,
  stepSays,
} from './run.js';
import { ageOf, digits, timeOf } from './units.js';

/** ramp and its watcher write their metrics every few seconds. */
const STALE_AFTER_SECONDS = 60;

export class State {
  /**
   * Clears the cards of the previous route.
   * @param {{ name: string, oldSide: string, newSide: string }} route its name, and the page's names for its sides
   */
  constructor(route) {
    this.route = route;
    this.stop = document.getElementById('stop');
    this.next = document.getElementById('next');
    this.split = partsOf(document.getElementById('split'));
    this.ramp = partsOf(document.getElementById('ramp'));
    this.alerts = partsOf(document.getElementById('alerts'));
    for (const part of [this.split.asked, this.ramp.phase]) say(part, '–');
    this.stop.hidden = true;
    this.split.bar.style.width = 0;
    for (const part of [this.split.real, this.next]) say(part, 'Waiting for the first answer.');
    for (const part of ['verdict', 'about', 'stale']) say(this.ramp[part], '');
    this.ramp.gates.replaceChildren();
    this.ramp.compared.hidden = true;
  }

  /**
   * @param {object[]} found all samples of ramp
   * @param {number | null} served the percentage of clients' requests that the new side answered; null without requests
   */
  update(found, served, now) {
    const figures = new Figures(found);
    this.showStop(figures, now);
    this.showSplit(figures, served);
    this.showRamp(figures, now);
  }

  showStop(figures, now) {
    const isStopped = isStoppedBy(figures);
    this.stop.hidden = !isStopped;
    if (!isStopped) return write(this.stop, []);
    // 0 where this nginx does not stop the route; others may.
    const times = figures.of('ramp_stopped_since_timestamp_seconds').map(({ value }) => value);
    const since = Math.max(0, ...times);
    const age = since === 0 ? '' : ` since ${timeOf(since)} (${ageOf(Math.max(now - since, 0))})`;
    write(this.stop, [
      `${this.route.name} is stopped${age}: every new request goes to ${this.route.oldSide}, and no run and no share is accepted. To end that: `,
      make('code', {}, commandFor(this.route, 'clear', '--reason WHY')),
    ]);
  }

  showSplit(figures, served) {
    const { split } = this;
    const set = figures.number('ramp_share_percent');
    const isStopped = isStoppedBy(figures);
    // While a run goes back, nginx asks the old side whatever the share still says.
    const share = isStopped || figures.is('ramp_braked') ? 0 : (set ?? 0);
    const words = isStopped ? 'Stopped' : this.toNew(share);
    say(split.asked, set === null ? 'No data yet' : words);
    split.asked.classList.toggle('bad', isStopped);
    split.bar.style.width = `${share}%`;
    const mirrored = figures.number('ramp_mirror_share_percent');
    const compared = mirrored === null ? '' : ` Mirrored: ${digits(mirrored)}%.`;
    const real =
      served === null
        ? 'No traffic in the last minute.'
        : `In the last minute ${this.route.newSide} served ${percent(served)}%.`;
    say(split.real, real + compared);
  }

  showRamp(figures, now) {
    const { ramp, route } = this;
    const ofRun = figures.chosen('ramp_phase', 'phase');
    const share = figures.number('ramp_share_percent');
    const phase = ofRun ?? (share === 100 ? 'whole' : 'none');
    const updated = figures.number('ramp_updated_timestamp_seconds');
    const age = updated === null ? 0 : now - updated;
    const stale = `These numbers are ${ageOf(age)} old: nothing watches the run.`;
    say(ramp.stale, age > STALE_AFTER_SECONDS ? stale : '');
    const beat = figures.number('ramp_heartbeat_timestamp_seconds');
    const silent = beat === null ? null : now - beat;
    const isStopped = isStoppedBy(figures);
    const { headline, text, isBad, hasProcess, orders } = runSays(phase, silent, isStopped);
    say(ramp.phase, headline);
    ramp.phase.classList.toggle('bad', isBad);
    const [step, steps] = ['ramp_step', 'ramp_steps'].map((name) => figures.number(name));
    const verdict = figures.chosen('ramp_verdict', 'verdict');
    say(ramp.verdict, ofRun === null ? '' : stepSays(step, steps, verdict));
    say(ramp.about, text);
    const gates = ofRun === null ? [] : byVerdict(gatesOf(figures));
    ramp.gates.replaceChildren(
      ...gates.map((gate) =>
        make('li', { className: gate.verdict }, gateSays(gate), ...strip(bandOf(gate))),
      ),
    );
    const run = {
      phase,
      isStopped,
      hasProcess,
      served: this.toNew(share),
      after: this.toNew(figures.number('ramp_next_share_percent')),
      endsAt: figures.number('ramp_hold_ends_timestamp_seconds'),
      undecided: gates.filter((gate) => gate.verdict === 'inconclusive').map(({ gate }) => gate),
    };
    const all = orders.map(([command, effect], i) => [
      i === 0 ? ' ' : '; ',
      make('code', {}, commandFor(route, command)),
      ` ${effect}`,
    ]);
    write(this.next, [nextSays(run, now), ...all.flat(), all.length === 0 ? '' : '.']);
  }

  /** @param {object[]} found how often each class was seen, was compared and differed */
  showClasses(found) {
    const lines = classesSay(found);
    this.ramp.compared.hidden = lines.length === 0;
    this.ramp.classes.replaceChildren(...lines.map((line) => make('li', {}, line)));
  }

  /** The text for a share of the new side; null without a share. */
  toNew(share) {
    return share === null ? null : `${digits(share)}% to ${this.route.newSide}`;
  }

  showAlerts(raised, now) {
    const firing = raised.filter(({ state }) => state === 'firing');
    const pending = raised.filter(({ state }) => state === 'pending');
    const names = new Set(pending.map(({ labels }) => labels.alertname));
    say(this.alerts.count, firing.length === 0 ? 'None firing' : `${firing.length} firing`);
    this.alerts.count.classList.toggle('bad', firing.length > 0);
    say(this.alerts.pending, names.size === 0 ? '' : `Pending: ${[...names].join(', ')}.`);
    this.alerts.list.replaceChildren(...firing.map((alert) => alertItem(alert, now)));
  }
}

/** The samples of `ramp_*`, by name. */
export class Figures {
  constructor(found) {
    this.found = found;
  }

  of(name) {
    return this.found.filter(({ metric }) => metric.__name__ === name);
  }

  number(name) {
    return this.of(name)[0]?.value ?? null;
  }

  /** Whether it is 1, at any nginx. */
  is(name) {
    return this.of(name).some(({ value }) => value === 1);
  }

  /** The label of the one sample that is 1. */
  chosen(name, label) {
    return this.of(name).find(({ value }) => value === 1)?.metric[label] ?? null;
  }
}

/** Whether any nginx stops the route. */
function isStoppedBy(figures) {
  return figures.is('ramp_stopped');
}

/** Each gate with its verdict, value and limit, and the ends of a test's interval. */
function gatesOf(figures) {
  const judged = figures.of('ramp_gate_verdict').filter(({ value }) => value === 1);
  const figure = (name, gate) =>
    figures.of(name).find(({ metric }) => metric.gate === gate)?.value ?? null;
  return judged.map(({ metric: { gate, verdict } }) => ({
    gate,
    verdict,
    value: figure('ramp_gate_value', gate),
    limit: figure('ramp_gate_limit', gate),
    lower: figure('ramp_gate_lower', gate),
    upper: figure('ramp_gate_upper', gate),
  }));
}

/** Draws the numbers of the sentence beside it: the band narrows as requests come. */
function strip(band) {
  if (band === null) return [];
  const mark = (className, from, to = from) => {
    const element = make('span', { className });
    element.style.left = `${from}%`;
    element.style.width = `${to - from}%`;
    return element;
  };
  const { from, to, estimate, limit } = band;
  const marks = [mark('zero', 50), mark('range', from, to), mark('estimate', estimate)];
  const drawing = make('div', { className: 'band' }, ...marks, mark('limit', limit));
  drawing.ariaHidden = 'true';
  return [drawing];
}

/** Writes texts and elements only if the text changed, because screen readers read out every write. */
function write(element, children) {
  const text = children.map((child) => child.textContent ?? child).join('');
  if (element.textContent !== text) element.replaceChildren(...children);
}

function alertItem({ labels, annotations, activeAt }, now) {
  const age = ageOf(Math.max(now - Date.parse(activeAt) / 1000, 0));
  const name = make('strong', {}, labels.alertname);
  const about = annotations.summary ?? annotations.description ?? '';
  const { runbook } = annotations;
  const help = runbook === undefined ? [] : [' ', make('code', {}, runbook)];
  return make('li', {}, name, ` for ${age}. ${about}`, ...help);
}

/** Whole numbers: a one-minute rate is no more precise. */
const percent = (number) => (number > 0 && number < 1 ? '< 1' : String(Math.round(number)));
