/**
 * Drives the playground and the documentation in Chromium, on a qr-service (BASE_URL) or a whole stack
 * (STACK_URL): ../README.md has the command.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  findingsOf,
  launchBrowser,
  openPage,
  overflowOf,
  picture,
} from '../../../legacy-node/test/support/browser.js';
import { decodeQr } from '../../../legacy-node/test/support/decoder.js';
import { applies, learn } from './form.js';

const baseUrl = (process.env.STACK_URL ?? process.env.BASE_URL)?.replace(/\/$/, '');
assert.ok(baseUrl, 'qr-service/api/README.md has the command');
const browser = await launchBrowser();
after(() => browser.close());
const PHONE = { viewport: { width: 360, height: 740 } };

/** Opens the playground and waits for its first picture. */
async function open(t, options) {
  const opened = await openPage(browser, t, `${baseUrl}/v1/`, options);
  await shows(opened.page, /^QR version 1,|^QR version 2,/);
  return opened;
}

/** Waits until the line below the picture matches, and the picture is up to date. */
async function shows(page, pattern) {
  await page.locator('#state').filter({ hasText: pattern }).waitFor({ timeout: 20_000 });
  await page.waitForFunction(() => !document.getElementById('frame').classList.contains('stale'));
}

// Waits for the picture, because it changes later than the code beside it.
async function becomes(page, pattern) {
  for (let tries = 0; tries < 50; tries += 1) {
    if (pattern.test(await onScreen(page).catch(() => ''))) return;
    await page.waitForTimeout(200);
  }
  assert.match(await onScreen(page), pattern);
}

/** Decodes the code on the screen. */
async function onScreen(page) {
  const png = await page.locator('#frame').screenshot();
  return (await decodeQr(png)).bytes.toString();
}

/** Opens every group of options. */
const openAll = (page) =>
  page.evaluate(() => {
    for (const it of document.querySelectorAll('#groups details')) it.open = true;
  });
const option = (page, name) => page.locator(`#option-${name}`);
const code = (page) => page.locator('#code').textContent();

async function choose(page, language) {
  await page.locator('#language').selectOption(language);
  return code(page);
}

describe('the playground', () => {
  it('shows the code of the text as one types, and asks no other host', async (t) => {
    const { page, problems, responses } = await open(t);
    assert.equal(await onScreen(page), 'https://example.com/');
    await option(page, 'text').fill('');
    await page.locator('#state').getByText('Type something').waitFor();
    await option(page, 'text').pressSequentially('Grüße & 漢字 "quoted"', { delay: 10 });
    await page.waitForFunction(() => document.getElementById('picture').alt.endsWith('"quoted"'));
    await shows(page, /modules/);
    assert.equal(await onScreen(page), 'Grüße & 漢字 "quoted"');
    const origins = new Set(responses.map((it) => new URL(it.url()).origin));
    assert.deepEqual(
      [...origins].filter((it) => it !== 'null'),
      [baseUrl],
    );
    assert.deepEqual(problems, []);
  });

  it('has every option of the service', async (t) => {
    const { page } = await open(t);
    const document = await (await fetch(`${baseUrl}/v1/openapi.json`)).json();
    const names = document.paths['/v1/qr'].get.parameters.map((it) => it.name);
    const shown = await page.locator('#form [name]').evaluateAll((all) => all.map((it) => it.name));
    assert.deepEqual(shown.toSorted(), names.toSorted());
    const kinds = Object.keys(document.paths).filter((it) => it.startsWith('/v1/payload/')).length;
    assert.equal(await page.locator('#content option').count(), kinds + 1);
  });

  it('offers the options that the service accepts with each format and kind', async () => {
    const given = new URLSearchParams(
      'size=200&scale=4&width_mm=40&dpi=300&margin=4&dark=036&light=fff&compression=fast&shape=dots&' +
        'finder_shape=circle&caption=a&title=a&style=ascii&ink=dark&boost=true&gs1=true&mask=1&eci=26&' +
        'version_min=1&version_max=4&mode=byte&rmqr_height=11&rmqr_width=27&finder_color=036&' +
        'gradient_color=036&frame=rounded&top_left_shape=circle',
    );
    const document = await (await fetch(`${baseUrl}/v1/openapi.json`)).json();
    learn(document.paths['/v1/qr'].get.parameters);
    const formats = ['png', 'svg', 'pdf', 'eps', 'txt', 'json', 'zpl', 'epl'].map((it) => [
      it,
      'qr',
    ]);
    for (const [format, kind] of [...formats, ['png', 'micro'], ['png', 'rmqr']]) {
      for (const [name, value] of given) {
        const query = new URLSearchParams({ text: '1', format, kind, [name]: value });
        const answer = await fetch(`${baseUrl}/v1/qr?${query}`);
        const { faults = [] } = answer.ok ? {} : await answer.json();
        const ofName = faults.filter((it) => it.parameter === name);
        const accepts = !ofName.some((it) => it.code === 'contradictory');
        assert.equal(applies(name, format, kind), accepts, `${query}: ${JSON.stringify(ofName)}`);
        assert.ok(
          ofName.every((it) => it.code === 'contradictory'),
          JSON.stringify(ofName),
        );
      }
    }
  });

  it('draws as the options say, in every format', async (t) => {
    const { page, problems } = await open(t);
    await openAll(page);
    await option(page, 'level').selectOption('H');
    await option(page, 'dark').fill('036');
    await option(page, 'size').fill('300');
    await shows(page, /level H/);
    assert.equal(
      await choose(page, 'URL'),
      `${baseUrl}/v1/qr.png?text=https%3A%2F%2Fexample.com%2F&size=300&dark=036&level=H`,
    );
    for (const format of ['svg', 'pdf', 'eps', 'txt', 'json', 'zpl', 'epl', 'png']) {
      await option(page, 'format').selectOption(format === 'png' ? '' : format);
      await page.waitForFunction(
        (end) => document.getElementById('code').textContent.includes(end),
        `/v1/qr.${format}?`,
      );
      await shows(page, /bytes/);
      const hasWidth = ['pdf', 'eps', 'zpl', 'epl'].includes(format);
      assert.equal(await option(page, 'width_mm').isVisible(), hasWidth);
      if (!['txt', 'json'].includes(format)) await becomes(page, /^https:\/\/example\.com\/$/);
      assert.equal(await page.locator('#problems li').count(), 0, format);
    }
    await option(page, 'kind').selectOption('rmqr');
    await shows(page, /^rMQR version R/);
    await option(page, 'kind').selectOption('micro');
    await page.locator('.error:not(:empty)').first().waitFor();
    await option(page, 'text').fill('12345');
    await option(page, 'level').selectOption('');
    await shows(page, /^Micro QR version M1, mask/);
    assert.ok(
      problems.every((it) => /status of (400|422)/.test(it)),
      problems.join(),
    );
  });

  it('warns before a picture stops to scan, and says at the field why it is refused', async (t) => {
    const { page } = await open(t);
    const warnings = page.locator('#warnings');
    await openAll(page);
    await option(page, 'dark').fill('aaa');
    await page.locator('#fault-dark').getByText('darker').waitFor();
    assert.equal(await option(page, 'dark').getAttribute('aria-invalid'), 'true');
    assert.ok(await page.locator('#frame.stale').isVisible());
    assert.equal(await page.locator('#problems li').count(), 0);
    // The line under the picture leads to the field, though its group is closed.
    await page.evaluate(() => {
      for (const it of document.querySelectorAll('#groups details')) it.open = false;
    });
    await page.locator('#state').getByRole('link', { name: 'Dark' }).click();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'option-dark');
    await option(page, 'dark').fill('');
    await openAll(page);
    await option(page, 'scale').fill('2');
    await warnings.getByText('2.0 pixels wide').waitFor();
    await option(page, 'scale').fill('');
    await option(page, 'format').selectOption('pdf');
    await option(page, 'width_mm').fill('9');
    await warnings.getByText('0.27 mm wide').waitFor();
    await option(page, 'width_mm').fill('');
    await option(page, 'version_min').fill('25');
    await warnings.getByText('117 x 117 modules').waitFor();
    await option(page, 'version_min').fill('41');
    await page.locator('#fault-version_min').getByText('use 1 to 40').waitFor();
  });

  it('begins with content, looks, picture and download; options and their help open on demand', async (t) => {
    const { page } = await open(t, PHONE);
    for (const id of ['content', 'option-text', 'looks', 'picture', 'downloads']) {
      assert.ok(await page.locator(`#${id}`).isVisible(), id);
    }
    assert.equal(await page.locator('#groups [data-option]:visible').count(), 0);
    await page.locator('summary', { hasText: 'Size and format' }).click();
    const [ask, help] = [page.getByLabel('Help: Margin'), page.locator('#help-margin')];
    assert.ok(!(await help.isVisible()));
    await ask.focus();
    await page.keyboard.press('Enter');
    await help.getByText('Quiet zone in modules.').waitFor();
    assert.equal(await ask.getAttribute('aria-expanded'), 'true');
  });

  it('draws each look, and knows which one is chosen', async (t) => {
    const { page, problems } = await open(t);
    for (const look of await page.locator('#looks button').all()) {
      assert.ok(
        await look.locator('img').evaluate((it) => it.decode().then(() => it.naturalWidth)),
      );
      await look.focus();
      await page.keyboard.press('Space');
      await page.waitForTimeout(200);
      await shows(page, /bytes/);
      await becomes(page, /^https:\/\/example\.com\/$/);
      const chosen = page.locator('#looks [aria-pressed=true]');
      assert.equal(await chosen.textContent(), await look.textContent());
    }
    assert.deepEqual(problems, []);
  });

  it('shows the grade of what it draws, and of a dropped picture with what to change', async (t) => {
    const { page } = await open(t);
    await page.locator('#grade').getByText('Grade 4 of 4').click();
    await page.locator('#grade').getByText('symbol contrast: 4 (1)').waitFor();
    const dropped = await page.evaluateHandle(async () => {
      const picture = await (await fetch('/v1/qr.png?text=a&dark=777')).blob();
      const data = new DataTransfer();
      data.items.add(new File([picture], 'grey.png', { type: 'image/png' }));
      return data;
    });
    await page.dispatchEvent('body', 'drop', { dataTransfer: dropped });
    await page.locator('#checked').getByText('Grade 2 of 4').waitFor();
    await page.locator('#checked').getByText('a darker dark or a lighter light').waitFor();
    assert.match(await page.locator('#checked').textContent(), /^grey\.png/);
    assert.deepEqual(await findingsOf(page), []);
  });

  it('shows the last answer, whatever order they come in', async (t) => {
    const { page } = await open(t);
    await page.route('**/v1/qr.png?text=slow', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await route.continue().catch(() => {});
    });
    await option(page, 'text').fill('slow');
    await page.waitForTimeout(400);
    await option(page, 'text').fill('quick');
    await page.waitForFunction(() => document.getElementById('picture').alt === 'QR code of quick');
    await page.waitForTimeout(2000);
    assert.equal(await onScreen(page), 'quick');
  });

  it('makes payloads, and keeps secrets out of the URL', async (t) => {
    const { page } = await open(t);
    await page.locator('#content').selectOption('geo');
    await option(page, 'latitude').fill('52.5');
    await page.waitForTimeout(400);
    assert.match(await page.locator('#state').textContent(), /^Type something/);
    await option(page, 'longitude').fill('13.4');
    await shows(page, /bytes/);
    await page.waitForFunction(() =>
      document.getElementById('code').textContent.includes('longitude'),
    );
    await becomes(page, /^geo:52.5,13.4/);
    assert.match(
      await choose(page, 'URL'),
      /\/v1\/payload\/geo\.png\?latitude=52\.5&longitude=13\.4$/,
    );
    await page.locator('#content').selectOption('wifi');
    await option(page, 'ssid').fill("guests'");
    await option(page, 'password').fill('come in, please');
    await shows(page, /bytes/);
    await page.waitForFunction(() =>
      document.getElementById('code').textContent.includes('please'),
    );
    await becomes(page, /^WIFI:/);
    assert.match(await choose(page, 'URL'), /^POST .*\/v1\/payload\/wifi\.png\n\{/);
    await runs(page, 'curl', /^WIFI:/);
    await runs(page, 'Python', /^WIFI:/);
    await runs(page, 'JavaScript', /^WIFI:/);
    await runs(page, 'Go', /^WIFI:/);
  });

  it('gives code that makes the picture', async (t) => {
    const { page } = await open(t);
    const text = `it's "5 $HOME" \\ % \`x\` ü 漢 😀 <b>&`;
    await option(page, 'text').fill(text);
    await shows(page, /bytes/);
    for (const language of ['curl', 'JavaScript', 'Python', 'Go', 'Java', 'PHP']) {
      await runs(page, language, text);
    }
    const html = await choose(page, 'HTML');
    const plain = await browser.newPage();
    t.after(() => plain.close());
    await plain.setContent(`<body style="margin:20px">${html}</body>`);
    await plain.waitForFunction(
      () => document.images[0].complete && document.images[0].naturalWidth,
    );
    assert.equal((await decodeQr(await plain.screenshot())).bytes.toString(), text);
  });

  it('downloads each format', async (t) => {
    const { page } = await open(t);
    const begins = {
      PNG: '\x89PNG',
      SVG: '<svg',
      PDF: '%PDF',
      EPS: '%!PS',
      TXT: '',
      JSON: '{',
    };
    for (const [format, begin] of Object.entries(begins)) {
      const started = page.waitForEvent('download');
      await page.getByRole('button', { name: format, exact: true }).click();
      const download = await started;
      assert.equal(download.suggestedFilename(), `code.${format.toLowerCase()}`);
      const bytes = readFileSync(await download.path());
      assert.ok(bytes.length > 100 && bytes.toString('latin1').startsWith(begin), format);
    }
  });

  it('works by keyboard', async (t) => {
    const { page } = await open(t);
    await page.locator('#content').focus();
    // Past the help of the field.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('typed');
    await page.waitForFunction(() => document.getElementById('picture').alt === 'QR code of typed');
    assert.equal(await onScreen(page), 'typed');
    await page.locator('#copy').focus();
    await page.keyboard.press('Enter');
    await page
      .locator('#copied')
      .getByText(/Copied|Ctrl/)
      .waitFor();
    const unnamed = await page
      .locator('#form [name]')
      .evaluateAll((all) => all.filter((it) => !it.labels.length).map((it) => it.name));
    assert.deepEqual(unnamed, []);
  });

  it('fits a phone, and both themes', async (t) => {
    for (const colorScheme of ['light', 'dark']) {
      for (const [name, options] of [
        ['wide', {}],
        ['phone', PHONE],
      ]) {
        const { page } = await open(t, { ...options, colorScheme });
        await picture(page, `playground-${name}-${colorScheme}`);
        await openAll(page);
        assert.equal(await overflowOf(page), 0, `${name} ${colorScheme}`);
        assert.deepEqual(await findingsOf(page), []);
        assert.equal(await onScreen(page), 'https://example.com/');
        await picture(page, `playground-${name}-${colorScheme}-options`);
      }
    }
  });
});

/** Runs the code in a language, and decodes the file that it writes. */
async function runs(page, language, text) {
  const commands = {
    curl: ['code.sh', ['sh', 'code.sh']],
    JavaScript: ['code.mjs', ['node', 'code.mjs']],
    Python: ['code.py', ['python3', 'code.py']],
    Go: ['code.go', ['go', 'run', 'code.go']],
    Java: ['Code.java', ['java', 'Code.java']],
    PHP: ['code.php', ['php', 'code.php']],
  };
  const [name, [program, ...options]] = commands[language];
  try {
    execFileSync('which', [program]);
  } catch {
    return; // not every machine has every language
  }
  const folder = mkdtempSync(join(tmpdir(), 'playground-'));
  try {
    writeFileSync(join(folder, name), await choose(page, language));
    execFileSync(program, options, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    const decoded = (await decodeQr(readFileSync(join(folder, 'code.png')))).bytes.toString();
    if (text instanceof RegExp) assert.match(decoded, text, language);
    else assert.equal(decoded, text, language);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Opens the documentation on a phone and wide, in both themes, and calls `check` with each page and its name. Each takes
 * four seconds: without NIGHTLY=1, only the first one is looked at.
 */
async function everyLook(t, path, check) {
  const looks = [
    ['phone-dark', { ...PHONE, colorScheme: 'dark' }],
    ['phone-light', { ...PHONE, colorScheme: 'light' }],
    ['wide-dark', { colorScheme: 'dark' }],
    ['wide-light', { colorScheme: 'light' }],
  ];
  for (const [name, options] of process.env.NIGHTLY ? looks : looks.slice(0, 1)) {
    const opened = await openPage(browser, t, baseUrl + path, options);
    await check(opened, name);
    const origins = new Set(opened.responses.map((it) => new URL(it.url()).origin));
    assert.deepEqual(origins, new Set([baseUrl]));
    assert.deepEqual(opened.problems, []);
  }
}

describe('the documentation', () => {
  it('shows every operation in the viewer, from this server alone', async (t) => {
    const document = await (await fetch(`${baseUrl}/v1/openapi.json`)).json();
    await everyLook(t, '/v1/docs', async ({ page }, look) => {
      const paths = page.locator('.opblock-summary-path');
      await paths.first().waitFor();
      const shown = await paths.evaluateAll((all) => all.map((it) => it.dataset.path));
      const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map(() => path),
      );
      assert.deepEqual(shown.toSorted(), operations.toSorted());
      const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(dark === 'rgb(16, 22, 27)', look.endsWith('dark'));
      // The `type` of a problem links here.
      assert.equal(await page.locator('#invalid-parameters').count(), 1);
      assert.equal(await page.getByText('`').count(), 0);
      // Checked before an operation is open, because the viewer sets the colours in it.
      assert.deepEqual(await findingsOf(page), []);
      await page.locator('[data-path="/v1/qr"]').first().click();
      await page.locator('[data-param-name="finder_shape"]').waitFor();
      assert.equal(await overflowOf(page), 0, look);
      await picture(page, `docs-${look}`);
    });
  });

  it('draws a picture in the viewer', async (t) => {
    const { page, problems } = await openPage(browser, t, `${baseUrl}/v1/docs`);
    await page.locator('[data-path="/v1/qr"]').first().click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.locator('[data-param-name="text"] input').fill('from the viewer');
    await page.getByRole('button', { name: 'Execute' }).click();
    const answer = page.locator('.live-responses-table img');
    await answer.waitFor();
    await answer.evaluate((it) => it.decode());
    assert.equal((await decodeQr(await answer.screenshot())).bytes.toString(), 'from the viewer');
    await page.locator('[data-path="/v1/qr"]').first().click();
    // The example of a body works without a change as well.
    await page.locator('[data-path="/v1/payload/gs1"]').last().click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    const made = page.waitForResponse((it) => it.request().method() === 'POST');
    await page.getByRole('button', { name: 'Execute' }).click();
    assert.equal((await made).status(), 200);
    assert.deepEqual(problems, []);
  });
});
