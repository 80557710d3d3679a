/** What the page shows of one route: the title, the numbers, the cards and the charts. */
import { Chart } from './chart.js';
import { onGrid, scrapedOn } from './grid.js';
import { say } from './parts.js';
import { history, samples, Unreachable } from './prometheus.js';
import { Ratio } from './ratio.js';
import { filled, titleOf } from './routes.js';
import { State } from './state.js';

export class Board {
  /**
   * Replaces what the page showed before.
   * @param {object} queries the content of `queries.json`
   * @param {import('./routes.js').Route} route
   */
  constructor(queries, route) {
    const specs = filled(queries, route);
    const { detailed, scraped, share } = specs;
    this.exprs = { detailed: detailed.expr, scraped: scraped.expr, share: share.expr };
    const kind = route.sessions ? 'sessions' : 'requests';
    const belongs = ({ of }) => of === undefined || of === kind;
    this.ratios = specs.ratios
      .filter(belongs)
      .map((spec) => new Ratio(spec, filled('$old', route), filled('$new', route)));
    this.charts = specs.charts.filter(belongs).map((spec) => new Chart(spec));
    const [oldSide, newSide] = ['$old', '$new'].map((side) => filled(side, route));
    this.state = new State(specs.ramp.expr, { name: route.name, oldSide, newSide });
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

  /** Queries everything; the charts only if there are points that they have not drawn. */
  async refresh(now, grid, signal) {
    const [detailed, share] = await Promise.all([
      samples(this.exprs.detailed, signal),
      samples(this.exprs.share, signal),
    ]);
    this.showDetails(detailed.length > 0);
    const served = share[0]?.value ?? null;
    const ratios = this.ratios.filter(isShown).map((ratio) => ratio.refresh(served, signal));
    const all = [...ratios, this.state.refresh(now, served, signal)];
    if (grid.start !== this.drawn?.start || grid.end !== this.drawn.end) {
      all.push(this.refreshCharts(grid, signal));
    }
    await Promise.all(all);
  }

  /**
   * Shows or hides what only the servers' own metrics can fill. The charts have two columns: the last of
   * an odd number takes both.
   */
  showDetails(detailed) {
    if (this.detailed === detailed) return;
    this.detailed = detailed;
    this.drawn = null;
    for (const { element, spec } of [...this.ratios, ...this.charts]) {
      element.hidden = spec.detail === true && !detailed;
    }
    const shown = this.charts.filter(isShown);
    for (const chart of this.charts) {
      const isLastOfOdd = shown.length % 2 === 1 && chart === shown.at(-1);
      chart.element.classList.toggle('wide', isLastOfOdd);
    }
    for (const chart of shown) chart.mount();
  }

  async refreshCharts(grid, signal) {
    const wasScraped = scrapedOn(await history(this.exprs.scraped, grid, signal), grid);
    const shown = this.charts.filter(isShown);
    await Promise.all(shown.map((chart) => refreshChart(chart, grid, wasScraped, signal)));
    this.drawn = grid;
  }
}

const isShown = ({ element }) => !element.hidden;

async function refreshChart(chart, grid, wasScraped, signal) {
  try {
    const lines = chart.spec.lines.map(({ expr }) => history(expr, grid, signal));
    const found = await Promise.all(lines);
    chart.show(
      grid,
      found.map((pairs) => onGrid(pairs, grid, wasScraped)),
    );
  } catch (error) {
    if (signal.aborted || error instanceof Unreachable) throw error;
    chart.fail(error.message);
  }
}
