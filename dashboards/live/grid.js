/**
 * Points in time that all charts share. Prometheus leaves out what it has no sample for; here it
 * becomes null, so that a line breaks there. It never becomes zero.
 */

/** Seconds between two scrapes: more points than that would say nothing more. */
const SCRAPE_SECONDS = 5;
/** A sample older than that is of another time. Leaves room for scrapes every 15 s. */
const OLDEST_SECONDS = 20;
const MOST_POINTS = 240;

/** Whole steps, so that a point's time does not move with the clock. */
export function gridFor(rangeSeconds, nowSeconds) {
  const step = Math.ceil(rangeSeconds / MOST_POINTS / SCRAPE_SECONDS) * SCRAPE_SECONDS;
  const end = Math.floor(nowSeconds / step) * step;
  return { start: end - Math.floor(rangeSeconds / step) * step, end, step };
}

export function timesOf({ start, end, step }) {
  return Array.from({ length: (end - start) / step + 1 }, (_, i) => start + i * step);
}

/**
 * A value, or null, for each time of the grid.
 * @param {[number, number | null][]} pairs times and values
 * @param {boolean[]} [wasScraped] for each time, whether Prometheus took samples then
 */
export function onGrid(pairs, { start, end, step }, wasScraped) {
  const values = new Array((end - start) / step + 1).fill(null);
  for (const [time, value] of pairs) {
    const index = Math.round((time - start) / step);
    if (wasScraped?.[index] ?? true) values[index] = value;
  }
  return values;
}

/**
 * Whether Prometheus took samples, for each time of the grid. Where it stood still it goes on giving
 * the last ones for 5 minutes, and would draw a level line.
 * @param {[number, number | null][]} pairs times, and the newest sample's own time then
 */
export function scrapedOn(pairs, grid) {
  return onGrid(
    pairs.map(([time, newest]) => [time, time - newest <= OLDEST_SECONDS]),
    grid,
  ).map((scraped) => scraped === true);
}

/** Indices of values without neighbours, which no line would show. */
export function isolated(values) {
  const indices = [];
  for (const [i, value] of values.entries()) {
    if (value != null && values[i - 1] == null && values[i + 1] == null) indices.push(i);
  }
  return indices;
}
