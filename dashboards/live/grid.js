/**
 * Points in time that all charts share. Where Prometheus has no sample, the value is null, never
 * zero, so that the line breaks.
 */

/** Seconds between two scrapes; closer points would repeat samples. */
const SCRAPE_SECONDS = 5;
/** Samples older than this do not count for a point; scrapes may be 15 s apart. */
const OLDEST_SECONDS = 20;
const MOST_POINTS = 240;
/** Rules store their results some seconds late, so points newer than this may still change. */
const LATE_SECONDS = 60;

/** Aligns points to whole steps, so that they do not move with the clock. */
export function gridFor(rangeSeconds, nowSeconds) {
  const step = Math.ceil(rangeSeconds / MOST_POINTS / SCRAPE_SECONDS) * SCRAPE_SECONDS;
  const end = Math.floor(nowSeconds / step) * step;
  return { start: end - Math.floor(rangeSeconds / step) * step, end, step };
}

/** The part of a grid to query if another grid is drawn: new points, and drawn ones that may have changed. */
export function unknownPart(grid, drawn) {
  if (drawn?.step !== grid.step || drawn.start > grid.start) return grid;
  const start = drawn.end - Math.ceil(LATE_SECONDS / grid.step) * grid.step;
  return { ...grid, start: Math.max(start, grid.start) };
}

export function timesOf({ start, end, step }) {
  return Array.from({ length: (end - start) / step + 1 }, (_, i) => start + i * step);
}

/**
 * Returns a value or null for each time of the grid.
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
 * Tells for each time of the grid whether Prometheus took samples. While Prometheus is down, it
 * repeats the last samples for 5 minutes, which would draw a flat line.
 * @param {[number, number | null][]} pairs times, and the time of the newest sample at each
 */
export function scrapedOn(pairs, grid) {
  return onGrid(
    pairs.map(([time, newest]) => [time, time - newest <= OLDEST_SECONDS]),
    grid,
  ).map((scraped) => scraped === true);
}

/** Indices of values without neighbours, which a line would not show. */
export function isolated(values) {
  const indices = [];
  for (const [i, value] of values.entries()) {
    if (value != null && values[i - 1] == null && values[i + 1] == null) indices.push(i);
  }
  return indices;
}
