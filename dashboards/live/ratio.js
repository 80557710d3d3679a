import { copyOf, partsOf, say } from './parts.js';
import { samples } from './prometheus.js';
import { digits, withUnit } from './units.js';

/** One of the large numbers: how many times as much the old side uses. */
export class Ratio {
  /** `oldName` and `newName` are what the page calls the sides. */
  constructor(spec, oldName, newName) {
    this.spec = spec;
    this.element = copyOf('ratio-template');
    this.element.id = `ratio-${spec.id}`;
    this.parts = partsOf(this.element);
    say(this.parts.who, `${oldName} uses`);
    say(this.parts.what, spec.what);
    say(this.parts.oldName, oldName);
    say(this.parts.newName, newName);
  }

  async refresh(signal) {
    const { expr, sides } = this.spec;
    const [ratio, both] = await Promise.all([samples(expr, signal), samples(sides.expr, signal)]);
    const side = (name) => both.find(({ metric }) => metric.side === name)?.value;
    this.show(ratio[0]?.value ?? null, side('old') ?? null, side('new') ?? null);
  }

  show(ratio, oldValue, newValue) {
    const { unit } = this.spec;
    say(this.parts.number, ratio === null ? 'No data yet' : digits(ratio, true));
    this.element.classList.toggle('unknown', ratio === null);
    say(this.parts.old, withUnit(oldValue, unit, true));
    say(this.parts.new, withUnit(newValue, unit, true));
  }
}
