import { copyOf, partsOf, say } from './parts.js';
import { digits, withUnit } from './units.js';

/** A side with a smaller percentage of the clients' requests is idle. */
const LEAST_PERCENT = 0.5;

/**
 * Names the side that serves no clients, for "No traffic on"; null if both serve some.
 * @param {number | null} served the new side's percentage of clients' requests; null without requests
 * @param {[string, string]} names of the old and of the new side
 */
export function idleSide(served, [oldName, newName]) {
  if (served === null) return 'either side';
  if (served < LEAST_PERCENT) return newName;
  return served > 100 - LEAST_PERCENT ? oldName : null;
}

/**
 * The text to show instead of the number; null if the number is meaningful. Values that are equal to the last digit are
 * quantiles from the same bucket of a histogram: the measurement is too coarse to tell the sides apart.
 * @param {string | null} idle what `idleSide` returned
 */
export function insteadOf(ratio, oldValue, newValue, idle) {
  if (ratio === null) return 'No data yet';
  if (idle !== null) return `No traffic on ${idle}`;
  return oldValue === newValue ? 'No difference' : null;
}

/** One of the large numbers: how many times as much the old side uses. */
export class Ratio {
  /** `oldName` and `newName` are the page's names for the sides. */
  constructor(spec, oldName, newName) {
    this.spec = spec;
    this.names = [oldName, newName];
    this.element = copyOf('ratio-template');
    this.element.id = `ratio-${spec.id}`;
    this.parts = partsOf(this.element);
    this.queries = { [`ratio ${spec.id}`]: spec.expr, [`sides ${spec.id}`]: spec.sides.expr };
    say(this.parts.oldName, oldName);
    say(this.parts.newName, newName);
    this.show(null, null, null, null);
  }

  /**
   * Shows no ratio of whole servers while one of them is idle. The shadow's numbers are not affected: it sends both
   * sides the same requests.
   * @param {object} found the samples of `queries`, by name
   */
  update(found, served) {
    const [ratio, both] = Object.keys(this.queries).map((name) => found[name]);
    const side = (name) => both.find(({ metric }) => metric.side === name)?.value;
    const idle = this.spec.detail ? idleSide(served, this.names) : null;
    this.show(ratio[0]?.value ?? null, side('old') ?? null, side('new') ?? null, idle);
  }

  show(ratio, oldValue, newValue, idle) {
    const { unit, what } = this.spec;
    const nothing = insteadOf(ratio, oldValue, newValue, idle);
    // Without a number there is no sentence around it: the card then says what both figures below are.
    say(this.parts.who, nothing ? what[0].toUpperCase() + what.slice(1) : `${this.names[0]} uses`);
    say(this.parts.what, nothing ? '' : what);
    say(this.parts.number, nothing ?? digits(ratio, true));
    this.element.classList.toggle('unknown', nothing !== null);
    say(this.parts.old, withUnit(oldValue, unit, true));
    say(this.parts.new, withUnit(newValue, unit, true));
  }
}
