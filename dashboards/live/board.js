/** What the page shows of one route: the title, the numbers, the cards and the charts. */
import { Chart } from './chart.js';
import { gridFor, onGrid, scrapedOn, unknownPart } from './grid.js';
import { say } from './parts.js';
import { alerts, histories, samples } from './prometheus.js';
import { Ratio } from './ratio.js';
import { filled, ofBothSides, titleOf } from './routes.js';
import { State } from './state.js';

export class Board {
  /**
   * Replaces what the page showed before.
   * @param {object} queries the content of `queries.json`
   * @param {import('./routes.js').Route} route
   */
  constructor(queries, route) {
    const charts = queries.charts.map((chart) => ({
      ...chart,
      lines: chart.lines.filter(({ screen }) => !screen).flatMap(ofBothSides),
    }));
    const specs = filled({ ...queries, charts }, route);
    const kind = route.sessions ? 'sessions' : 'requests';
    const belongs = ({ of }) => of === undefined || of === kind;
    const [oldSide, newSide] = ['$old', '$new'].map((side) => filled(side, route));
    this.ratios = specs.ratios.filter(belongs).map((spec) => new Ratio(spec, oldSide, newSide));
    this.charts = specs.charts.filter(belongs).map((spec) => new Chart(spec));
    this.state = new State({ name: route.name, oldSide, newSide });
    const { classes, detailed, ramp, scraped, share } = specs;
    this.scraped = { scraped: scraped.expr };
    this.numbers = Object.assign(
      { now: 'vector(time())', detailed: detailed.expr, ramp: ramp.expr, share: share.expr },
      { classes: classes.expr },
      ...this.ratios.map((ratio) => ratio.queries),
    );
    say(document.getElementById('path'), route.path);
    say(document.getElementById('sides'), titleOf(route));
    document.title = `${route.path}: ${titleOf(route)}`;
    document.getElementById('ratios').replaceChildren(...this.ratios.map(({ element }) => element));
    document.getElementById('charts').replaceChildren(...this.charts.map(({ element }) => element));
    this.showDetails(false);
  }

  remove() {
    for (const chart of this.charts) chart.remove();
  }

  redraw() {
    for (const chart of this.charts) chart.redraw();
  }

  /**
   * Queries everything.
   * @param {number} seconds the charts' range
   * @returns {Promise<number>} Prometheus' clock in seconds, because this device's may be wrong
   */
  async refresh(seconds, signal) {
    // First and alone: if Prometheus is down, one request shows it.
    const found = await samples(this.numbers, signal);
    const now = found.now[0].value;
    const served = found.share[0]?.value ?? null;
    this.showDetails(found.detailed.length > 0);
    for (const ratio of this.ratios) ratio.update(found, served);
    this.state.update(found.ramp, served, now);
    this.state.showClasses(found.classes);
    const grid = gridFor(seconds, now);
    const listed = alerts(signal).then((raised) => this.state.showAlerts(raised, now));
    await Promise.all([listed, this.refreshCharts(grid, signal)]);
    return now;
  }

  /** Shows or hides the parts that need the servers' own metrics. */
  showDetails(detailed) {
    if (this.detailed === detailed) return;
    this.detailed = detailed;
    this.drawn = undefined;
    for (const { element, spec } of [...this.ratios, ...this.charts]) {
      element.hidden = spec.detail === true && !detailed;
    }
  }

  /** Asks for the points that the charts have not drawn. */
  async refreshCharts(grid, signal) {
    const { drawn } = this;
    if (grid.start === drawn?.start && grid.end === drawn.end) return;
    const shown = this.charts.filter(({ element }) => !element.hidden);
    const queries = Object.assign({}, this.scraped, ...shown.map((chart) => chart.queries));
    const asked = unknownPart(grid, drawn);
    const found = await histories(queries, asked, signal);
    for (const [name, pairs] of Object.entries(found)) {
      const known = drawn?.pairs[name] ?? [];
      const kept = known.filter(([time]) => time >= grid.start && time < asked.start);
      found[name] = [...kept, ...pairs];
    }
    this.drawn = { ...grid, pairs: found };
    const wasScraped = scrapedOn(found.scraped, grid);
    for (const chart of shown) {
      const names = Object.keys(chart.queries);
      const columns = names.map((name) => onGrid(found[name], grid, wasScraped));
      chart.show(grid, columns);
    }
    // There are two columns: with an odd number of charts, the last one takes both.
    const full = shown.filter(({ isEmpty }) => !isEmpty);
    for (const chart of full) {
      const isLastOfOdd = full.length % 2 === 1 && chart === full.at(-1);
      chart.element.classList.toggle('wide', isLastOfOdd);
    }
  }
}
