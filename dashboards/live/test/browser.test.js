/**
 * Drives the page in Chromium, on a separate stack with both arms under load: ../README.md has the
 * command.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  findingsOf,
  launchBrowser,
  openPage,
  overflowOf,
  picture,
} from '../../../legacy-node/test/support/browser.js';

const { STACK_URL: stackUrl, STACK_ADMIN_URL: adminUrl, STACK_DIR: folder } = process.env;
assert.ok(adminUrl && folder, 'dashboards/live/README.md has the command');
/** Rates need a minute of samples, and restarts take longer on a busy machine. */
const PATIENCE = { timeout: 90_000 };
/** Waits for a minute of samples; NIGHTLY=1 runs it. */
const MINUTES = { skip: !process.env.NIGHTLY && 'only with NIGHTLY=1' };
/** The route of the stack, and one around two servers that export nothing. */
const ROUTES = [
  { name: 'qrcode', path: '/qrcode', old: 'Node', new: 'Rust' },
  { name: 'api-prices', path: '/api/prices', old: 'old', new: 'new' },
];

const browser = await launchBrowser();
after(() => browser.close());

/**
 * Requests distinct texts while the tests run, and keeps failures. If the machine stalls, the old side reaches its
 * limit or its timeout, so a client tries again, as a 503 asks for.
 */
function startLoad() {
  const load = { sent: 0, failures: [] };
  const ask = async (url) => {
    const answer = await fetch(url).catch((error) => ({ status: String(error.cause ?? error) }));
    await answer.arrayBuffer?.();
    return answer.status;
  };
  const timer = setInterval(async () => {
    const url = `${stackUrl}/qrcode?text=https://example.com/live/${load.sent++}`;
    let status = await ask(url);
    for (let tries = 1; status !== 200 && tries < 4; tries++) {
      await setTimeout(1000);
      status = await ask(url);
    }
    if (status !== 200) load.failures.push(status);
  }, 40);
  return Object.assign(load, { end: () => clearInterval(timer) });
}

const program = new URL('../../../target/debug/carve', import.meta.url).pathname;

/** Stops or starts a part of the stack. */
function supervise(order, part) {
  execFileSync(program, ['part', order, part, '--run-dir', folder]);
}

/** Runs a command of carve on the stack; returns its exit code. */
async function carve(...args) {
  const [code] = await once(spawn(program, args, { stdio: 'ignore' }), 'exit');
  return code;
}

/** Writes gates by name: each compares its number with the limit 5 at once. */
function writeGates(gates) {
  const file = join(folder, 'gates.toml');
  const texts = Object.entries(gates).map(
    ([name, [number, otherwise]]) =>
      `[[gate]]\nname = "${name}"\nabout = "a number"\nquery = "vector(${number})"\ncompare = "<="\nlimit = 5\notherwise = "${otherwise}"\njudge = "at once"\n`,
  );
  writeFileSync(file, `overlap = "10s"\n${texts.join('')}`);
  return file;
}

/** The texts of a chart's table by column, oldest first. */
async function columnsOf(page, chart) {
  const figure = page.locator(`#chart-${chart}`);
  if (!(await figure.locator('details').evaluate((details) => details.open))) {
    await figure.getByText('Table', { exact: true }).click();
  }
  const body = figure.locator('tbody tr');
  await body.first().waitFor({ state: 'attached' });
  const rows = await body.evaluateAll((all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  return rows[0].map((_, i) => rows.map((row) => row[i]).reverse());
}

/** The same, once each column ends in a number: charts lag some seconds behind. */
async function columnsWithNow(page, chart) {
  const deadline = Date.now() + PATIENCE.timeout;
  for (;;) {
    const columns = await columnsOf(page, chart);
    if (columns.every((column) => column.at(-1) !== '–')) return columns;
    assert.ok(Date.now() < deadline, `${chart} has no number for now`);
    await page.waitForTimeout(200);
  }
}

/** Runs in the page: counts a chart's pixels in a colour of the style sheet. */
function pixelsOf(figure, colour) {
  const style = getComputedStyle(document.documentElement).getPropertyValue(`--${colour}`).trim();
  const wanted = style.match(/[0-9a-f]{2}/gi).map((digits) => Number.parseInt(digits, 16));
  const canvas = figure.querySelector('canvas');
  if (canvas === null) return 0; // it has had no value yet
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 200 && wanted.every((value, j) => Math.abs(data[i + j] - value) < 24))
      found++;
  }
  return found;
}

/** Waits until a chart has a line in that colour. */
async function curve(page, id, colour) {
  const deadline = Date.now() + PATIENCE.timeout;
  while ((await page.locator(`#chart-${id}`).evaluate(pixelsOf, colour)) < 20) {
    assert.ok(Date.now() < deadline, `${id} has no curve in the colour --${colour}`);
    await page.waitForTimeout(200);
  }
}

/** How many API requests Prometheus has answered, by its own count. */
async function askedOfPrometheus() {
  const metrics = await (await fetch(`${adminUrl}/prometheus/metrics`)).text();
  const counted = metrics.matchAll(
    /^prometheus_http_requests_total{.*handler="\/api\/.*} (\d+)$/gm,
  );
  return [...counted].reduce((sum, [, number]) => sum + Number(number), 0);
}

const ratio = (page, id) => page.locator(`#ratio-${id} [data-part=number]`);
const sameOrigin = (responses) =>
  assert.deepEqual(
    [...new Set(responses.map((response) => new URL(response.url()).origin))],
    [new URL(adminUrl).origin],
  );

describe('the live page', () => {
  it('says that there is no data yet, and keeps to its policy', async (t) => {
    const { page, problems, responses } = await openPage(browser, t, adminUrl);
    const chart = page.locator('#chart-latency');
    await chart
      .getByText('No data yet. The shadow sent no requests in this range')
      .waitFor(PATIENCE);
    await page.locator('#ratio-latency').getByText('No data yet').waitFor();
    await ratio(page, 'memory').getByText('No traffic on either side').waitFor(PATIENCE);
    const card = await page.locator('#ratio-memory').innerText();
    assert.match(
      card,
      /^The memory\s+No traffic on either side\s+Node\s+[\d.]+\sMB\s+Rust\s+[\d.]+\sMB$/,
    );
    await page.locator('#split').getByText('50% to Rust').waitFor(PATIENCE);
    await page.locator('#ramp').getByText('No run').waitFor();
    const next = 'Next: nothing by itself. carve ramp qrcode moves the traffic in steps.';
    assert.equal(await page.locator('#next').textContent(), next);
    await page.locator('#alerts').getByText('None firing').waitFor();
    assert.deepEqual(await findingsOf(page), []);
    await picture(page, 'no-data');
    const policy = responses[0].headers()['content-security-policy'];
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
    sameOrigin(responses);
    assert.deepEqual(problems, []);
  });

  describe('with both arms under load', () => {
    let load;
    before(() => {
      load = startLoad();
    });
    after(() => load.end());

    it('follows the split, the ramp that moves it, and alerts', async (t) => {
      const { page, problems } = await openPage(browser, t, `${adminUrl}/?range=5m`);
      const gates = writeGates({ low: [3, 'roll back'], 'too-high': [7, 'roll back'] });
      assert.equal(await carve('ramp', '--steps', '60', '--hold', '5s', '--gates', gates), 3);
      const state = page.locator('#ramp');
      await state.getByText('Rolled back').waitFor(PATIENCE);
      await state.getByText('Step 1 of 1 fails.').waitFor();
      const listed = await state.locator('li').allTextContents();
      assert.deepEqual(listed.slice(0, 2), [
        'too-high fails: 7 (limit 5)',
        'low passes: 3 (limit 5)',
      ]);
      const next = page.locator('#next');
      assert.match(await next.textContent(), /^Next: nothing by itself\. carve status qrcode says/);
      const alerts = page.locator('#alerts');
      const rolledBack = alerts.getByText(/^RampRolledBack for \d+ s\. qrcode: a gate failed/);
      await rolledBack.waitFor(PATIENCE);
      await rolledBack.getByText(/^docs\/runbooks\/[\w-]+\.md$/).waitFor();
      await alerts.getByText(/^\d firing$/).waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await picture(page, 'rolled-back');
      assert.equal(await carve('split', '30'), 0);
      await page.locator('#split').getByText('30% to Rust').waitFor(PATIENCE);
      await state.getByText('No run').waitFor(PATIENCE);
      // Others may fire on a busy machine.
      await rolledBack.waitFor({ state: 'detached', ...PATIENCE });
      assert.deepEqual(problems, []);
    });

    it('says so while its own files do not load, and tries again', async (t) => {
      const { page } = await openPage(browser, t, 'about:blank');
      await page.route('**/queries.json', () => {}); // never answers
      await page.goto(`${adminUrl}/?range=5m`);
      const notice = page.getByRole('alert');
      await notice
        .getByText(/^The page cannot load queries\.json: .+ again every 5 s\.$/)
        .waitFor();
      await page.unroute('**/queries.json');
      await notice.waitFor({ state: 'hidden', ...PATIENCE });
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
    });

    it('shows four numbers and every curve, and asks no other host', async (t) => {
      const { page, problems, responses } = await openPage(browser, t, `${adminUrl}/?range=5m`);
      const ratios = ['memory', 'latency', 'cpu', 'bytes'];
      for (const id of ratios) {
        await ratio(page, id)
          .getByText(/^[\d.,]+$/)
          .waitFor(PATIENCE);
        for (const side of ['old', 'new']) {
          const text = await page.locator(`#ratio-${id} [data-part=${side}]`).textContent();
          assert.match(text, /^[\d.,]+\s(B|kB|MB|µs|ms|s)$/, `${id}, ${side}`);
        }
      }
      for (const id of [...ratios, 'traffic', 'client-latency', 'own-latency']) {
        for (const colour of ['old', 'new']) {
          await curve(page, id, colour);
        }
      }
      assert.equal(await page.locator('.chart.empty').count(), 0);
      sameOrigin(responses);
      assert.deepEqual(problems, []);
      assert.deepEqual(load.failures.splice(0), []);
    });

    it('takes the route and the names of its sides from nginx', async (t) => {
      const { page, problems } = await openPage(browser, t, `${adminUrl}/?range=5m`);
      const title = '/qrcode: Node (old) against Rust (new)';
      await page.getByRole('heading', { name: title }).waitFor();
      assert.equal(await page.title(), title);
      assert.equal(
        await page.getByLabel('Route').inputValue(),
        'qrcode',
        'the first of two routes',
      );
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
      assert.match(await page.locator('#ratio-memory').textContent(), /Node uses.+Node.+Rust/s);
      assert.equal(await page.locator('.ratio').first().getAttribute('id'), 'ratio-memory');
      assert.equal(await page.locator('.chart').first().getAttribute('id'), 'chart-memory');
      assert.deepEqual(problems, []);
    });

    it('lets the reader choose between routes, and shows only what each of them has', async (t) => {
      const { page, problems } = await openPage(browser, t, 'about:blank');
      await page.route('**/routes.json', (route) => route.fulfill({ json: ROUTES }));
      await page.goto(`${adminUrl}/?range=5m`);
      const shown = (kind) =>
        page.locator(`${kind}:visible`).evaluateAll((all) => all.map(({ id }) => id));
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
      const select = page.getByLabel('Route');
      assert.equal(await select.inputValue(), 'qrcode');
      await select.selectOption('api-prices');
      await page.waitForURL(`${adminUrl}/?range=5m&route=api-prices`);
      await page.getByRole('heading', { name: '/api/prices: Old against New' }).waitFor();
      await page
        .locator('#chart-latency')
        .getByText(/^No data yet\. The shadow sent no/)
        .waitFor(PATIENCE);
      assert.deepEqual(await shown('.ratio'), ['ratio-latency', 'ratio-bytes']);
      assert.deepEqual((await shown('.chart')).slice(0, 2), ['chart-latency', 'chart-bytes']);
      assert.equal(await page.locator('.plot:visible').count(), 0, 'one line stands for each');
      await page.locator('#split').getByText('No data yet').waitFor();
      await picture(page, 'other-route');
      await page.reload();
      // The page has loaded before its list of routes has.
      await page.getByRole('heading', { name: '/api/prices: Old against New' }).waitFor();
      assert.equal(await select.inputValue(), 'api-prices', 'the route is kept');
      await select.selectOption('qrcode');
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
      await curve(page, 'memory', 'new');
      await page
        .locator('#split')
        .getByText(/% to Rust$/)
        .waitFor();
      assert.equal((await shown('.ratio')).length, 4);
      assert.deepEqual(problems, []);
    });

    it('asks Prometheus at most ten times in 5 s, and not at all while it is hidden', async (t) => {
      const before = await askedOfPrometheus();
      const { page, problems } = await openPage(browser, t, `${adminUrl}/?range=5m`);
      await page.waitForTimeout(5000);
      const first = (await askedOfPrometheus()) - before;
      // Two refreshes, of three requests each.
      assert.ok(first >= 3 && first <= 10, `${first} requests in the first 5 s`);
      await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { value: true });
        document.dispatchEvent(new Event('visibilitychange'));
      });
      const hidden = await askedOfPrometheus();
      await page.waitForTimeout(5500);
      assert.equal((await askedOfPrometheus()) - hidden, 0);
      assert.deepEqual(problems, []);
    });

    it('works by keyboard alone', async (t) => {
      const { page, problems } = await openPage(browser, t, `${adminUrl}/?range=5m`);
      await page.locator('#chart-memory:not(.empty)').waitFor(PATIENCE);
      // The choice of a route comes first.
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SELECT');
      await page.keyboard.press('Tab');
      await page.keyboard.press('ArrowRight');
      await page.waitForURL(`${adminUrl}/?range=15m`);
      await page.keyboard.press('Tab');
      await page.keyboard.press('d');
      assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
      await page.keyboard.press('Tab');
      const cursor = page.locator('#chart-memory input');
      const isAtCursor = () => cursor.evaluate((input) => input === document.activeElement);
      // What was compared comes before it, once there is something to say.
      if (!(await isAtCursor())) await page.keyboard.press('Tab');
      assert.ok(await isAtCursor());
      const said = () => cursor.getAttribute('aria-valuetext');
      const now = await said();
      assert.match(now, /^\d\d:\d\d:\d\d: Node [\d.]+\sMB, Rust [\d.]+\sMB$/);
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      assert.notEqual((await said()).slice(0, 8), now.slice(0, 8));
      await page.reload();
      assert.equal(
        await page.locator('html').getAttribute('data-theme'),
        'dark',
        'the theme is kept',
      );
      assert.ok(await page.getByLabel('15 min').isChecked());
      assert.deepEqual(problems, []);
    });

    for (const colorScheme of ['light', 'dark']) {
      for (const [name, width] of [
        ['wide', 1280],
        ['phone', 390],
      ]) {
        it(`fits a ${name} screen, ${colorScheme}`, async (t) => {
          const viewport = { width, height: 844 };
          const { page, problems } = await openPage(browser, t, `${adminUrl}/?range=5m`, {
            colorScheme,
            viewport,
          });
          await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
          await page.locator('#chart-memory:not(.empty)').waitFor(PATIENCE);
          assert.equal(await overflowOf(page), 0);
          assert.deepEqual(await findingsOf(page), []);
          await picture(page, `${name}-${colorScheme}`);
          assert.deepEqual(problems, []);
        });
      }
    }

    it('shows a restart of the new side as a gap, not as zero', MINUTES, async (t) => {
      const { page, problems } = await openPage(browser, t, `${adminUrl}/?range=5m`);
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
      supervise('stop', 'qr-service');
      await ratio(page, 'memory').getByText('No data yet').waitFor(PATIENCE);
      supervise('start', 'qr-service');
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
      const [, node, rust] = await columnsWithNow(page, 'memory');
      const first = rust.findIndex((text) => text !== '–');
      const gap = rust.indexOf('–', first);
      assert.ok(first >= 0 && gap > first && rust.at(-1) !== '–', rust.join(' '));
      assert.match(node[gap], /MB$/, 'Node has none there');
      assert.ok(!rust.some((text) => text.startsWith('0')), rust.join(' '));
      await picture(page, 'gap');
      assert.deepEqual(problems, []);
      assert.deepEqual(load.failures.splice(0), [], 'the fallback served clients');
    });

    it('says that Prometheus cannot be reached, and recovers by itself', MINUTES, async (t) => {
      const { page, problems } = await openPage(browser, t, `${adminUrl}/?range=5m`);
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
      const notice = page.getByRole('alert');
      assert.equal(await notice.isVisible(), false);
      supervise('stop', 'prometheus');
      const stopped = Date.now();
      await notice
        .getByText(/^Prometheus cannot be reached\. The page shows data from \d/)
        .waitFor(PATIENCE);
      await picture(page, 'unreachable');
      // Longer than the age up to which a sample counts for a point, plus the distance between points.
      await page.waitForTimeout(stopped + 25_000 - Date.now());
      supervise('start', 'prometheus');
      await notice.waitFor({ state: 'hidden', ...PATIENCE });
      await ratio(page, 'memory').getByText(/^\d/).waitFor(PATIENCE);
      const [, node] = await columnsWithNow(page, 'memory');
      const seen = node.slice(node.findIndex((text) => text !== '–'));
      assert.ok(seen.includes('–'), 'without scrapes there is a gap');
      // The browser itself reports answers of 502 and 503; there must be no other problem.
      const others = problems.filter((text) => !/status of 50[23]/.test(text));
      assert.deepEqual(others, []);
    });
  });
});
