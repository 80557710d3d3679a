/** The parts that need no browser: points in time, numbers and the page's files. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { gridFor, isolated, onGrid, scrapedOn, timesOf, unknownPart } from '../grid.js';
import { histories, joined, samples, separated, Unreachable } from '../prometheus.js';
import { chosenRoute, filled, ofBothSides, titleOf } from '../routes.js';
import { ageOf, axisTimes, timeOf, withUnit } from '../units.js';

const folder = new URL('../', import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), 'utf8');

describe('points in time', () => {
  const grid = { start: 1000, end: 1020, step: 5 };

  it('are no closer than scrapes, and few enough for any range', () => {
    for (const range of [300, 900, 3600, 21_600, 86_400]) {
      const { start, end, step } = gridFor(range, 1_700_000_003.2);
      assert.equal(step % 5, 0);
      assert.equal(end % step, 0, 'so that points do not move with the clock');
      assert.ok((end - start) / step <= 240);
      assert.ok(end - start > range - step);
    }
    const hour = { start: 1_699_996_395, end: 1_699_999_995, step: 15 };
    assert.deepEqual(gridFor(3600, 1_700_000_003.2), hour);
  });

  it('have null where there is no sample, and zero only where zero was measured', () => {
    assert.deepEqual(timesOf(grid), [1000, 1005, 1010, 1015, 1020]);
    const pairs = [
      [1000, 7],
      [1015, 0],
    ];
    assert.deepEqual(onGrid(pairs, grid), [7, null, null, 0, null]);
  });

  it('have null while Prometheus was down, though it repeats its last sample', () => {
    const newest = [
      [1000, 999],
      [1005, 980],
      [1010, 989],
      [1015, 995],
      [1020, 1018],
    ];
    const wasScraped = scrapedOn(newest, grid);
    assert.deepEqual(wasScraped, [true, false, false, true, true]);
    const level = [1000, 1005, 1010, 1015, 1020].map((time) => [time, 3]);
    assert.deepEqual(onGrid(level, grid, wasScraped), [3, null, null, 3, 3]);
  });

  it('are asked for once, but for the newest, which late samples may change', () => {
    const drawn = { start: 1000, end: 1300, step: 5 };
    const later = { start: 1010, end: 1310, step: 5 };
    assert.deepEqual(unknownPart(later, drawn), { start: 1240, end: 1310, step: 5 });
    const [first, longer] = [undefined, { ...drawn, start: 1005 }];
    for (const other of [first, longer, { ...drawn, start: 900, step: 30 }]) {
      assert.deepEqual(unknownPart({ ...later, start: 1000 }, other), { ...later, start: 1000 });
    }
    const afterALongPause = { start: 5000, end: 5300, step: 5 };
    assert.deepEqual(unknownPart(afterALongPause, drawn), afterALongPause);
    const days = { start: 0, end: 86_400, step: 360 };
    const next = { start: 360, end: 86_760, step: 360 };
    assert.deepEqual(unknownPart(next, days), { ...next, start: 86_040 });
  });

  it('are shown alone where they have no neighbour', () => {
    assert.deepEqual(isolated([1, null, 0, null, 2, 3, null]), [0, 2]);
  });
});

describe('queries', () => {
  const queries = { up: 'up', 'cpu 0': 'sum(a) or b' };

  it('go to Prometheus as one', () => {
    const one = (expr, name) => `label_replace(${expr}, "asked_as", "${name}", "", "")`;
    assert.equal(joined(queries), `${one('up', 'up')} or ${one('sum(a) or b', 'cpu 0')}`);
  });

  it('get their own series of the answer, or none', () => {
    const series = [3, 4].map((value) => ({ metric: { asked_as: 'up' }, value }));
    const found = separated(queries, series, ({ value }) => value);
    assert.deepEqual(found, { up: [3, 4], 'cpu 0': [] });
  });

  it('are posted, and fail as unreachable or as Prometheus says', async (t) => {
    const { signal } = new AbortController();
    let answer;
    const fetch = t.mock.method(globalThis, 'fetch', async () => answer);
    const gives = (result, status = 200, body = { status: 'success', data: { result } }) => {
      answer = { status, json: async () => body };
    };
    const metric = { asked_as: 'up' };
    gives(['3', 'NaN'].map((value) => ({ metric, value: [7, value] })));
    const found = (await samples(queries, signal)).up.map(({ value }) => value);
    assert.deepEqual(found, [3, null]);
    const [path, { method, body }] = fetch.mock.calls[0].arguments;
    assert.deepEqual([path, method], ['prometheus/api/v1/query', 'POST']);
    assert.equal(body.get('query'), joined(queries));
    const grid = { start: 0, end: 5, step: 5 };
    const one = {
      metric,
      values: [
        [0, '2'],
        [5, '+Inf'],
      ],
    };
    gives([one]);
    assert.deepEqual(await histories(queries, grid, signal), {
      up: [
        [0, 2],
        [5, null],
      ],
      'cpu 0': [],
    });
    gives([one, one]);
    await assert.rejects(
      histories(queries, grid, signal),
      /^Error: 2 series where one was expected: up$/,
    );
    for (const status of [502, 503, 504]) {
      gives([], status);
      await assert.rejects(samples(queries, signal), Unreachable);
    }
    for (const [error, says] of [
      ['bad query', /^Error: bad query$/],
      [undefined, /^Error: no reason given$/],
    ]) {
      gives([], 400, { status: 'error', error });
      await assert.rejects(samples(queries, signal), says);
    }
  });
});

describe('numbers', () => {
  for (const [number, unit, text] of [
    [0, 'bytes', '0 B'],
    [393.4, 'bytes', '393 B'],
    [999.5, 'bytes', '1 kB'],
    [1_000_000_000, 'bytes', '1 GB'],
    [7, 'count', '7'],
    [0.000_000_012_3, 'count', '0'],
    [5_250_000, 'bytes', '5.25 MB'],
    [999_900, 'bytes', '1 MB'],
    [0.0000984, 'seconds', '98.4 µs'],
    [0.00484, 'seconds', '4.84 ms'],
    [1.5, 'seconds', '1.5 s'],
    [0, 'seconds', '0 s'],
    [0.0003, 'percent', '0.0003%'],
    [19.66, 'per second', '19.7/s'],
    [null, 'bytes', '–'],
  ]) {
    it(`${number} ${unit} is ${text}`, () =>
      assert.equal(withUnit(number, unit).replace('\u00a0', ' '), text));
  }

  it('ages are rounded', () => {
    const ages = [8, 89, 90, 5399, 5400].map(ageOf);
    assert.deepEqual(ages, ['8 s', '89 s', '2 min', '90 min', '2 h']);
  });

  it('midnight is shown as a day', () => {
    const midnight = new Date(2026, 10, 21).getTime() / 1000;
    assert.deepEqual(axisTimes([midnight, midnight + 3600], 3600), ['21 Nov', '01:00']);
    assert.deepEqual(axisTimes([midnight], 59), ['00:00:00']);
    assert.deepEqual(axisTimes([midnight], 60), ['21 Nov']);
    assert.equal(timeOf(midnight + 1), '00:00:01');
  });
});

describe('the route', () => {
  const named = { name: 'qrcode', path: '/qrcode', old: 'Node', new: 'Rust' };
  const unnamed = { name: 'api-prices', path: '/api/prices', old: 'old', new: 'new' };

  it('is the one that the address asks for, or the first', () => {
    const routes = [named, unnamed];
    assert.equal(chosenRoute(routes, '?range=5m&route=api-prices'), unnamed);
    assert.equal(chosenRoute(routes, '?route=gone'), named);
    assert.equal(chosenRoute(routes, ''), named);
  });

  it('and what people call its sides stand in queries and texts, at any depth', () => {
    const spec = {
      title: '$old failed',
      lines: [{ expr: 'up{route="$route"}', max: 100 }],
      empty: null,
    };
    assert.deepEqual(filled(spec, named), {
      title: 'Node failed',
      lines: [{ expr: 'up{route="qrcode"}', max: 100 }],
      empty: null,
    });
    assert.equal(filled('$old over $new of $route', unnamed), 'Old over New of api-prices');
    // Names may have characters that are special for replace().
    assert.equal(filled('$new', { ...named, new: '$& C++' }), '$& C++');
  });

  it('has a line of each side where one stands for both', () => {
    const lines = [
      { name: '$side failed', expr: 'f{r="$side_error"}', style: 'dashed' },
      { name: 'All', expr: 'f', colour: 'other' },
    ];
    assert.deepEqual(lines.flatMap(ofBothSides), [
      { name: '$old failed', expr: 'f{r="old_error"}', style: 'dashed', colour: 'old' },
      { name: '$new failed', expr: 'f{r="new_error"}', style: 'dashed', colour: 'new' },
      lines[1],
    ]);
  });

  it('has a title that tells the sides apart', () => {
    assert.equal(titleOf(named), 'Node (old) against Rust (new)');
    assert.equal(titleOf(unnamed), 'Old against New');
  });
});

describe('the page', () => {
  it('is served whole, and nothing else of the folder is', () => {
    const [, pattern] = read('../../proxy/live-page.conf').match(/location ~ "([^"]+uplot[^"]+)"/);
    const served = readdirSync(folder, { recursive: true }).filter((file) =>
      new RegExp(pattern).test(`/${file}`),
    );
    const own = readdirSync(folder).filter((file) => /\.(html|css|js|svg)$/.test(file));
    const linked = [read('index.html'), read('chart.js')].flatMap((text) =>
      [...text.matchAll(/node_modules[^'"]+/g)].map(([file]) => file),
    );
    assert.equal(linked.length, 2);
    assert.deepEqual(served.sort(), [...own, ...linked, 'queries.json'].sort());
  });

  it('loads from no other host and has nothing inline that its policy would refuse', () => {
    const html = read('index.html');
    assert.doesNotMatch(html, /<script>|<script(?![^>]*src=)|<style|style=|\son\w+=/);
    for (const name of readdirSync(folder).filter((file) => /\.(html|css|js)$/.test(file))) {
      assert.doesNotMatch(read(name), /https?:|["'(]\/\//, name);
    }
  });

  it('asks of every chart and number only what belongs to the chosen route', () => {
    const { ratios, charts, detailed, ramp, share } = JSON.parse(read('queries.json'));
    const lines = charts.flatMap((chart) => chart.lines);
    const sides = ratios.map((ratio) => ratio.sides);
    for (const { expr } of [...ratios, ...sides, ...lines, detailed, ramp, share]) {
      assert.match(expr, /route="\$route"/, expr);
    }
  });

  it('names no route and no side, only what stands for them', () => {
    for (const name of ['queries.json', 'index.html', 'state.js', 'ratio.js', 'board.js']) {
      assert.doesNotMatch(read(name), /qrcode|\bNode\b|\bRust\b/, name);
    }
  });

  it('leads with latency and bytes where servers export nothing of their own', () => {
    const { ratios, charts } = JSON.parse(read('queries.json'));
    const ids = (all) => all.filter(({ detail }) => !detail).map(({ id }) => id);
    assert.deepEqual(ids(ratios), ['latency', 'bytes']);
    assert.deepEqual(ids(charts).slice(0, 2), ['latency', 'bytes']);
    for (const kind of ['requests', 'sessions']) {
      const shown = charts.filter(({ of }) => of === undefined || of === kind);
      assert.equal(ids(shown).length % 2, 0, `so that two columns are full: ${kind}`);
      assert.ok(shown.length < charts.length, kind);
    }
    const details = charts.filter(({ detail }) => detail).map(({ id }) => id);
    assert.deepEqual(details, ['memory', 'cpu', 'own-latency']);
  });

  it('has a text for each chart without data, and each unit and colour', () => {
    const { ratios, charts } = JSON.parse(read('queries.json'));
    const css = read('live.css');
    assert.equal(ratios.length, 4);
    for (const { unit, lines, empty, id } of charts) {
      assert.ok(empty.length > 10, id);
      assert.notEqual(withUnit(1, unit), '');
      for (const { colour } of lines.flatMap(ofBothSides))
        assert.ok(css.includes(`--${colour}:`), `${id}: ${colour}`);
    }
  });
});
