import { isolated, timesOf } from './grid.js';
import uPlot from './node_modules/uplot/dist/uPlot.esm.js';
import { copyOf, make, partsOf, say } from './parts.js';
import { axisTimes, timeOf, withUnit } from './units.js';

const HEIGHT = 200;
const AXIS_WIDTH = 62;
const AXIS_HEIGHT = 28;
const FONT = '12px -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
/** Seconds between marks of the time axis. uPlot's default has none between one minute and five. */
const MARKS = [
  5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
];
const DASHES = { solid: [], dashed: [8, 5], dotted: [2, 4] };

/** Reads a colour at each use, because themes change. */
const colour = (name) => () =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Lines over time, with a legend that shows their values and a table. */
export class Chart {
  constructor(spec) {
    this.spec = spec;
    this.element = copyOf('chart-template');
    this.element.id = `chart-${spec.id}`;
    this.queries = Object.fromEntries(spec.lines.map(({ expr }, i) => [`${spec.id} ${i}`, expr]));
    this.isEmpty = true;
    this.parts = partsOf(this.element);
    say(this.parts.title, spec.title);
    say(this.parts.about, spec.about);
    this.parts.cursor.setAttribute('aria-label', spec.title);
    this.parts.table.setAttribute('aria-label', spec.title);
    this.values = spec.lines.map((line) => {
      const value = make('span', { className: 'value' }, '–');
      const swatch = make('span', { className: `swatch ${line.colour} ${line.style ?? 'solid'}` });
      this.parts.legend.append(make('li', {}, swatch, `${line.name} `, value));
      return value;
    });
    this.data = [[], ...spec.lines.map(() => [])];
    this.parts.details.addEventListener('toggle', () => this.writeTable());
    this.parts.cursor.addEventListener('input', ({ target }) => this.point(Number(target.value)));
    this.parts.cursor.addEventListener('blur', () => this.point(null));
  }

  /** Draws for the first time; the plot must be shown by now, to have a width. */
  mount() {
    if (this.plot) return;
    const { plot } = this.parts;
    this.plot = new uPlot(this.options(plot.clientWidth), this.data, plot);
    this.resized = new ResizeObserver(() => {
      // While the plot is hidden, it has no width.
      if (plot.clientWidth > 0) this.plot.setSize({ width: plot.clientWidth, height: HEIGHT });
    });
    this.resized.observe(plot);
  }

  remove() {
    this.resized?.disconnect();
    this.plot?.destroy();
    this.element.remove();
  }

  options(width) {
    const { unit, scale } = this.spec;
    const grid = { stroke: colour('line'), width: 1 };
    const axis = { font: FONT, stroke: colour('muted'), grid, ticks: { show: false } };
    const times = (_plot, splits, _axis, _space, increment) => axisTimes(splits, increment);
    // On a crowded logarithmic axis, uPlot passes null for marks to skip.
    const units = (_plot, splits) =>
      splits.map((split) => (split === null ? '' : withUnit(split, unit)));
    return {
      width,
      height: HEIGHT,
      padding: [10, 20, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: 'time' }, y: false, drag: { x: false }, points: { size: 7 } },
      scales: {
        x: { range: () => this.span ?? [0, 1] },
        y: scale === 'log' ? { distr: 3, range: decades } : { range: (_, __, max) => this.up(max) },
      },
      axes: [
        { ...axis, values: times, incrs: MARKS, size: AXIS_HEIGHT, gap: 7, space: 70 },
        {
          ...axis,
          values: units,
          size: AXIS_WIDTH,
          space: 32,
          ...(scale === 'log' && { splits: (_plot, _axis, min, max) => powers(min, max) }),
        },
      ],
      series: [{}, ...this.spec.lines.map(lineOptions)],
      hooks: { setCursor: [(plot) => this.showValues(plot.cursor.idx)] },
    };
  }

  /** From zero, so that heights can be compared, to a little above the largest value, or at least to `least`. */
  up(max) {
    return [0, this.spec.max ?? (Math.max((max ?? 0) * 1.1, this.spec.least ?? 0) || 1)];
  }

  /** Shows the values, or one line that says why there are none. */
  show(grid, columns) {
    this.span = [grid.start, grid.end];
    this.data = [timesOf(grid), ...columns];
    this.isEmpty = columns.every((column) => column.every((value) => value === null));
    this.element.classList.toggle('empty', this.isEmpty);
    say(this.parts.nothing, this.isEmpty ? `No data yet. ${this.spec.empty}` : '');
    if (this.isEmpty) return;
    this.mount();
    this.plot.setData(this.data);
    this.showValues(this.plot.cursor.idx);
    this.writeTable();
  }

  redraw() {
    this.plot?.redraw(false);
  }

  /** Shows the values at an index, by default the latest. */
  showValues(index) {
    const { lines, unit } = this.spec;
    const at = index ?? this.data[0].length - 1;
    if (at < 0) return;
    const texts = this.data.slice(1).map((column) => withUnit(column[at], unit));
    for (const [i, value] of this.values.entries()) say(value, texts[i]);
    const { cursor } = this.parts;
    cursor.max = this.data[0].length - 1;
    cursor.value = at;
    const all = lines.map(({ name }, i) => `${name} ${texts[i]}`).join(', ');
    cursor.setAttribute('aria-valuetext', `${timeOf(this.data[0][at])}: ${all}`);
  }

  /** Puts the cursor of all charts on a point; null removes it. */
  point(index) {
    const left = index === null ? -10 : this.plot.valToPos(this.data[0][index], 'x');
    this.plot.setCursor({ left, top: index === null ? -10 : HEIGHT / 2 });
  }

  writeTable() {
    if (!this.parts.details.open) return;
    const { lines, unit } = this.spec;
    const head = ['Time', ...lines.map(({ name }) => name)].map((name) =>
      make('th', { scope: 'col' }, name),
    );
    const [times, ...columns] = this.data;
    const rows = times.map((time, i) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, timeOf(time)),
        ...columns.map((column) => make('td', {}, withUnit(column[i], unit))),
      ),
    );
    this.parts.table.replaceChildren(
      make('thead', {}, make('tr', {}, ...head)),
      make('tbody', {}, ...rows.reverse()),
    );
  }
}

function lineOptions({ colour: name, style = 'solid', steps }) {
  return {
    stroke: colour(name),
    width: style === 'dotted' ? 1.5 : 2,
    dash: DASHES[style],
    paths: steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
    // Draws only samples between two gaps: a line would not show them.
    points: {
      show: true,
      size: 5,
      fill: colour(name),
      filter: (plot, series) => isolated(plot.data[series]),
    },
  };
}

function decades(_plot, min, max) {
  if (min === null) return [1e-4, 1];
  const low = Math.floor(Math.log10(min));
  return [10 ** low, 10 ** Math.max(Math.ceil(Math.log10(max)), low + 1)];
}

function powers(min, max) {
  const low = Math.round(Math.log10(min));
  return Array.from({ length: Math.round(Math.log10(max)) - low + 1 }, (_, i) => 10 ** (low + i));
}
