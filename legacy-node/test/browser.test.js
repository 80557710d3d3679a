/**
 * Drives the page in Chromium. It tests a fresh app, the server at BASE_URL, or the whole stack
 * (STACK_URL is nginx with all of /qrcode on qr-service).
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startApp } from './support/app-process.js';
import {
  findingsOf,
  launchBrowser,
  openPage as open,
  overflowOf,
  picture,
} from './support/browser.js';
import { decodeQr, pngSize } from './support/decoder.js';

const stackUrl = process.env.STACK_URL;
const baseUrl = (stackUrl ?? process.env.BASE_URL ?? (await startApp({ after })).url).replace(
  /\/$/,
  '',
);
const browser = await launchBrowser();
after(() => browser.close());

const openPage = (t, options) => open(browser, t, baseUrl, options);

/** Waits until the picture has loaded and returns it as the browser received it. */
async function shownQr(page, responses) {
  await page.waitForFunction(() => {
    const image = document.getElementById('result-qr');
    return image.complete && image.naturalWidth > 0;
  });
  const src = await page.getByTestId('result-qr').evaluate((image) => image.src);
  const response = responses.findLast((candidate) => candidate.url() === src);
  return { png: await response.body(), response };
}

async function shorten(page, url) {
  await page.getByTestId('link-url').fill(url);
  await page.getByTestId('link-submit').click();
  await page.getByTestId('latest-item').first().getByText(url, { exact: true }).waitFor();
  return page.getByTestId('result-short').textContent();
}

describe('the page in a browser', () => {
  it('makes a short link that leads to the link, with a picture that decodes to it', async (t) => {
    const { page, problems, responses } = await openPage(t);
    // Leads back here; unique, because the stack may have links from an earlier run.
    const target = `${baseUrl}/?seen=${Date.now()}`;
    const short = await shorten(page, target);
    assert.match(short, new RegExp(`^${baseUrl}/l/[0-9A-Za-z]{7}$`));

    const { png, response } = await shownQr(page, responses);
    assert.equal((await decodeQr(png)).bytes.toString(), short);
    assert.deepEqual(pngSize(png), { width: 200, height: 200 });
    await assertScreenDecodesTo(page, short);

    const newest = page.getByTestId('latest-item').first();
    assert.equal(await newest.getByRole('link').getAttribute('href'), short);
    await newest.getByText('0 visits').waitFor();
    assert.ok((await page.getByTestId('latest-item').count()) <= 10);

    for (const other of responses) {
      const expected = stackUrl && other === response ? 'qr-service' : 'legacy-node';
      assert.equal((await other.allHeaders())['x-served-by'], expected, other.url());
    }
    const origins = new Set(responses.map((other) => new URL(other.url()).origin));
    assert.deepEqual([...origins], [new URL(baseUrl).origin]);

    await newest.getByRole('link').click();
    await page.waitForURL(target);
    await page.getByTestId('latest-item').first().getByText('1 visit', { exact: true }).waitFor();
    assert.deepEqual(problems, []);
  });

  it('lists the links made in this browser, and nobody else does', async (t) => {
    const { page, problems } = await openPage(t);
    await page.getByTestId('latest-empty').waitFor();
    const [first, second] = ['first', 'second'].map((name) => `https://example.com/${name}`);
    await shorten(page, first);
    await shorten(page, second);
    await page.reload();
    await page.getByTestId('latest-item').nth(1).waitFor();
    const shown = await page.locator('#latest .to').allTextContents();
    assert.deepEqual(shown, [second, first]);
    const other = await openPage(t);
    await other.page.getByTestId('latest-empty').waitFor();
    assert.equal(await other.page.getByTestId('latest-item').count(), 0);
    assert.deepEqual([...problems, ...other.problems], []);
  });

  it('tells screen readers the link, and says if the picture does not load', async (t) => {
    const { page } = await openPage(t);
    const announced = page.getByTestId('link-made');
    assert.deepEqual(await announced.evaluate((it) => [it.role, it.textContent]), ['status', '']);
    await page.route('**/qrcode?*', (route) => route.fulfill({ status: 503 }));
    const short = await shorten(page, 'https://example.com/without-a-picture');
    assert.equal(await announced.textContent(), `Your short link is ${short}`);
    const status = page.getByTestId('result-status');
    await status.getByText('The QR code did not load. The link works without it.').waitFor();
    assert.equal(await page.getByTestId('result-qr').isVisible(), false);
    await page.unroute('**/qrcode?*');
    await page.getByTestId('latest-item').getByRole('button').click();
    await page.waitForFunction(() => document.getElementById('result-qr').naturalWidth > 0);
    assert.equal(await status.textContent(), '');
  });

  it('works by keyboard alone', async (t) => {
    const { page, problems, responses } = await openPage(t);
    await page.keyboard.press('Tab');
    await page.keyboard.type('example.com/by-keyboard');
    await page.keyboard.press('Enter');
    await page.getByTestId('result').waitFor();
    assert.equal(
      await page.getByTestId('result-target').textContent(),
      'https://example.com/by-keyboard',
    );
    const { png } = await shownQr(page, responses);
    const short = await page.getByTestId('result-short').textContent();
    assert.equal((await decodeQr(png)).bytes.toString(), short);
    assert.deepEqual(problems, []);
  });

  it('says what is wrong with a link, and recovers', async (t) => {
    const { page, problems } = await openPage(t);
    await page.getByTestId('link-url').fill('javascript:alert(1)');
    await page.getByTestId('link-submit').click();
    const error = page.getByTestId('link-error');
    await error.getByText('Url must start with http:// or https://.').waitFor();
    assert.equal(await page.getByTestId('link-url').getAttribute('aria-invalid'), 'true');
    assert.equal(await page.getByTestId('result').isVisible(), false);
    await shorten(page, 'https://example.com/recovered');
    assert.equal(await error.textContent(), '');
    // The browser itself reports the 400 that was asked for; there must be nothing else.
    assert.ok(
      problems.every((text) => text.includes('status of 400')),
      problems.join('\n'),
    );
  });

  it('shows a hostile link as text', async (t) => {
    const { page, problems } = await openPage(t);
    const hostile = `https://example.com/?"'--><script>alert(1)</script><img src=x onerror=alert(1)>`;
    await page.getByTestId('link-url').fill(hostile);
    await page.getByTestId('link-submit').click();
    const shown = new URL(hostile).href;
    await page.getByTestId('latest-item').first().getByText(shown, { exact: true }).waitFor();
    assert.equal(await page.getByTestId('result-target').textContent(), shown);
    assert.equal(await page.locator('main script, li img').count(), 0);
    await page.reload();
    await page.getByTestId('latest-item').first().getByText(shown, { exact: true }).waitFor();
    assert.deepEqual(problems, []);
  });

  for (const colorScheme of ['light', 'dark']) {
    for (const [name, width] of [
      ['wide', 1000],
      ['phone', 360],
    ]) {
      it(`fits a ${name} screen, ${colorScheme}, and its code can be scanned`, async (t) => {
        const { page, problems } = await openPage(t, {
          colorScheme,
          viewport: { width, height: 800 },
        });
        const target = `https://example.com/${'a-very-long-path/'.repeat(20)}${name}`;
        const short = await shorten(page, target);
        await assertScreenDecodesTo(page, short);
        assert.equal(await overflowOf(page), 0);
        assert.equal(await page.evaluate(overlapInList), undefined);
        assert.deepEqual(await findingsOf(page), []);
        await picture(page, `${name}-${colorScheme}`);
        assert.deepEqual(problems, []);
        await page.goto(`${baseUrl}/nothing`);
        assert.deepEqual(await findingsOf(page), []);
      });
    }
  }
});

/** Runs in the page: the first two elements of a list item that overlap. */
function overlapInList() {
  for (const item of document.querySelectorAll('#latest li')) {
    const children = [...item.children].map((child) => [child, child.getBoundingClientRect()]);
    for (const [i, [one, a]] of children.entries()) {
      for (const [two, b] of children.slice(i + 1)) {
        const apart =
          a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        if (!apart) return `${one.outerHTML} ${two.outerHTML}`;
      }
    }
  }
}

/** Decodes the page as drawn, as a phone's camera would, not the file. */
async function assertScreenDecodesTo(page, text) {
  await page.waitForFunction(() => document.getElementById('result-qr').naturalWidth > 0);
  const decoded = await decodeQr(await page.screenshot({ fullPage: true }));
  assert.equal(decoded?.bytes.toString(), text);
}
