/** The three cards below the numbers: the split, the ramp that moves it, the alerts. */
import { make, partsOf, say } from './parts.js';
import { alerts, samples } from './prometheus.js';
import { ageOf, digits } from './units.js';

/** The phases of a run, by their `ramp_phase` label. */
const PHASES = {
  holding: 'Under way',
  paused: 'Paused',
  inconclusive: 'Paused: too little data to judge',
  interrupted: 'Interrupted',
  going_back: 'Rolling back',
  done: 'Done: every step has passed',
  rolled_back: 'Rolled back',
  aborted: 'Aborted',
  superseded: 'Ended: someone set the split by hand',
};
const VERDICTS = { pass: 'passes', fail: 'fails', inconclusive: 'is undecided' };

export class State {
  /**
   * Clears what the cards said of another route.
   * @param {{ name: string, newSide: string, isOnly: boolean }} route its name, what the page calls its new
   * side, and whether nginx has no other route
   */
  constructor({ ramp, share }, route) {
    this.exprs = { ramp: ramp.expr, share: share.expr };
    this.route = route;
    this.split = partsOf(document.getElementById('split'));
    this.ramp = partsOf(document.getElementById('ramp'));
    this.alerts = partsOf(document.getElementById('alerts'));
    for (const part of [this.split.asked, this.ramp.phase]) say(part, '–');
    this.split.bar.style.width = 0;
    say(this.split.real, 'Waiting for the first answer.');
    say(this.ramp.verdict, '');
    this.ramp.gates.replaceChildren();
  }

  async refresh(now, signal) {
    const [ramp, share, raised] = await Promise.all([
      samples(this.exprs.ramp, signal),
      samples(this.exprs.share, signal),
      alerts(signal),
    ]);
    const figures = new Figures(ramp);
    this.showSplit(figures, share[0]?.value ?? null);
    this.showRamp(figures, now);
    this.showAlerts(raised, now);
  }

  showSplit(figures, real) {
    const asked = figures.number('ramp_share_percent');
    const { split } = this;
    say(split.asked, asked === null ? 'No data yet' : `${digits(asked)}% to ${this.route.newSide}`);
    split.bar.style.width = `${asked ?? 0}%`;
    const mirrored = figures.number('ramp_mirror_share_percent');
    const compared = mirrored === null ? '' : ` Mirrored: ${digits(mirrored)}%.`;
    const served =
      real === null
        ? 'No traffic in the last minute.'
        : `In the last minute ${this.route.newSide} served ${percent(real)}%.`;
    say(split.real, served + compared);
  }

  showRamp(figures, now) {
    const { ramp } = this;
    const phase = figures.chosen('ramp_phase', 'phase');
    // ramp drops its phase when someone sets the share by hand.
    if (phase === null) {
      say(ramp.phase, 'No run');
      const order = this.route.isOnly ? 'make ramp' : `make ramp ROUTE=${this.route.name}`;
      say(ramp.verdict, `${order} moves the traffic in steps.`);
      ramp.gates.replaceChildren();
      return;
    }
    const step = `Step ${figures.number('ramp_step')} of ${figures.number('ramp_steps')}`;
    const verdict = figures.chosen('ramp_verdict', 'verdict');
    const updated = figures.number('ramp_updated_timestamp_seconds');
    const age = updated === null ? '' : `, as of ${ageOf(Math.max(now - updated, 0))} ago`;
    say(ramp.phase, PHASES[phase] ?? phase);
    const judged = verdict === null ? 'not judged yet' : (VERDICTS[verdict] ?? verdict);
    say(ramp.verdict, `${step} ${judged}${age}.`);
    ramp.gates.replaceChildren(...gatesOf(figures));
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
class Figures {
  constructor(found) {
    this.found = found;
  }

  of(name) {
    return this.found.filter(({ metric }) => metric.__name__ === name);
  }

  number(name) {
    return this.of(name)[0]?.value ?? null;
  }

  /** The label of the one sample that is 1. */
  chosen(name, label) {
    return this.of(name).find(({ value }) => value === 1)?.metric[label] ?? null;
  }
}

/** The gates that did not pass, with their values. */
function gatesOf(figures) {
  const judged = figures.of('ramp_gate_verdict').filter(({ value }) => value === 1);
  const figure = (name, gate) =>
    figures.of(name).find(({ metric }) => metric.gate === gate)?.value ?? null;
  return judged
    .filter(({ metric }) => metric.verdict !== 'pass')
    .map(({ metric: { gate, verdict } }) => {
      const [value, limit] = [figure('ramp_gate_value', gate), figure('ramp_gate_limit', gate)];
      const numbers = value === null ? '' : `: ${digits(value)}`;
      const bound = value === null || limit === null ? '' : ` (limit ${digits(limit)})`;
      return make('li', {}, `${gate} ${VERDICTS[verdict] ?? verdict}${numbers}${bound}`);
    });
}

function alertItem({ labels, annotations, activeAt }, now) {
  const age = ageOf(Math.max(now - Date.parse(activeAt) / 1000, 0));
  const name = make('strong', {}, labels.alertname);
  const about = annotations.summary ?? annotations.description ?? '';
  return make('li', {}, name, ` for ${age}. ${about}`);
}

/** Whole numbers: a one-minute rate is no more precise. */
const percent = (number) => (number > 0 && number < 1 ? '< 1' : String(Math.round(number)));
