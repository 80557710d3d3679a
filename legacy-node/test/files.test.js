/** Sends files from the page in Chromium, through the relay on the app's own listener. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startApp, temporaryFolder } from './support/app-process.js';
import {
  findingsOf,
  launchBrowser,
  openPage as open,
  overflowOf,
  picture,
} from './support/browser.js';
import { decodeQr } from './support/decoder.js';

const MB = 1e6;
/** Tests that take seconds longer, or need a separate app or browser; NIGHTLY=1 runs them. */
const LONG = { skip: !process.env.NIGHTLY && 'only with NIGHTLY=1' };
const app = await startApp({ after });
const browser = await launchBrowser();
after(() => browser.close());

const openPage = (t, options, url = app.url) => open(browser, t, url, options);

/** A file of random bytes, written in pieces. */
function randomFile(t, bytes, name = 'file.bin') {
  const path = join(temporaryFolder(t), name);
  const file = openSync(path, 'w');
  const hash = createHash('sha256');
  for (let left = bytes; left > 0; left -= MB) {
    const piece = randomBytes(Math.min(left, MB));
    hash.update(piece);
    writeSync(file, piece);
  }
  closeSync(file);
  return { path, sha256: hash.digest('hex') };
}

/** Drops files on the page as the operating system does. */
async function dropFiles(page, ...files) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await session.send('Input.dispatchDragEvent', { type, x: 20, y: 20, data });
  }
}

async function linkOf(page) {
  await page.getByTestId('transfer').waitFor();
  return page.getByTestId('transfer-link').getAttribute('href');
}

const stateIs = (page, text) => page.getByTestId('transfer-state').getByText(text).waitFor();

/** A receiver, once its answer has begun. */
async function receive(link) {
  const request = get(link, { agent: false });
  const [answer] = await once(request, 'response');
  request.on('error', () => {}); // `answer` tells, too
  return answer;
}

/** Reads at least so many bytes, and then no more. */
async function readSome(answer, bytes) {
  let seen = 0;
  await new Promise((resolve, reject) => {
    answer.once('error', reject);
    answer.on('data', (chunk) => {
      seen += chunk.length;
      if (seen < bytes) return;
      answer.pause();
      resolve();
    });
  });
  answer.removeAllListeners('data');
}

/** Whether somebody has the link's key. */
async function isHeld({ adminUrl }, link) {
  const headers = { 'X-Key': new URL(link).pathname };
  return (await fetch(`${adminUrl}/held`, { headers })).status === 204;
}

/** Resident memory of the app's process in bytes. */
function memoryOf(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

describe('a file dropped on the page', () => {
  it('reaches who scans the code, whole, and the app does not hold it', async (t) => {
    const file = randomFile(t, 200 * MB);
    const { page, problems } = await openPage(t);
    await dropFiles(page, file.path);
    const link = await linkOf(page);
    assert.match(link, new RegExp(`^${app.url}/p/[\\w-]{22}$`));
    await page.waitForFunction(() => document.getElementById('transfer-qr').naturalWidth > 0);
    const scanned = await decodeQr(await page.screenshot({ fullPage: true }));
    assert.equal(scanned?.bytes.toString(), link);
    await stateIs(page, 'Waiting for somebody to open the link.');
    assert.equal(await page.getByTestId('transfer-again').isVisible(), false);
    // Bytes that are only in buffers are not shown as sent.
    assert.equal(await page.getByTestId('transfer-amount').textContent(), '0 bytes of 200 MB');

    const before = memoryOf(app.pid);
    let peak = before;
    const hash = createHash('sha256');
    const answer = await receive(link);
    for await (const chunk of answer) {
      hash.update(chunk);
      peak = Math.max(peak, memoryOf(app.pid));
    }
    assert.equal(answer.headers['content-length'], String(200 * MB));
    assert.equal(hash.digest('hex'), file.sha256);
    await stateIs(page, 'Received.');
    assert.equal(await page.getByTestId('transfer-amount').textContent(), '200 MB of 200 MB');
    t.diagnostic(
      `memory: ${Math.round(before / MB)} MB before, at most ${Math.round(peak / MB)} MB`,
    );
    // Node's heap and freed buffers make up most of it; a held file would be 200 MB.
    assert.ok(peak - before < 100 * MB, `${peak - before} bytes more`);
    assert.deepEqual(problems, []);
  });

  it('is cut at the receiver if the sender cancels midway', async (t) => {
    // The kernel may hold 36 MB on each of the two connections.
    const file = randomFile(t, 100 * MB);
    const { page, problems } = await openPage(t);
    await dropFiles(page, file.path);
    const answer = await receive(await linkOf(page));
    await readSome(answer, 10 * MB);
    await stateIs(page, 'Sending.');
    await page.getByTestId('transfer-cancel').click();
    await stateIs(page, 'Cancelled.');
    await assert.rejects(async () => {
      for await (const _ of answer);
    });
    assert.equal(answer.complete, false);
    for (const gone of ['qr', 'link', 'cancel']) {
      assert.equal(await page.getByTestId(`transfer-${gone}`).isVisible(), false, gone);
    }
    assert.deepEqual(problems, []);
  });

  // Chromium sends a request again if its connection had served another one before.
  for (const [connection, prepare] of [
    ['a connection in use', () => {}],
    ['a new connection', (page) => page.waitForTimeout(2500)],
  ]) {
    it(`is told to have lost its receiver midway, on ${connection}`, LONG, async (t) => {
      const { url } = await startApp(t, { KEEP_ALIVE_TIMEOUT_SECONDS: '1' });
      const file = randomFile(t, 100 * MB);
      const { page, problems } = await openPage(t, {}, url);
      await prepare(page);
      await dropFiles(page, file.path);
      const answer = await receive(await linkOf(page));
      await readSome(answer, 10 * MB);
      await stateIs(page, 'Sending.');
      answer.destroy();
      await stateIs(
        page,
        /The receiver left before the end|the receiver left, or a connection broke/,
      );
      assert.ok(
        problems.every((text) => /status of 400|ERR_CONNECTION_RESET/.test(text)),
        problems,
      );
    });
  }

  it('frees its key if it is cancelled while it waits', async (t) => {
    const file = randomFile(t, 20 * MB);
    const { page, problems } = await openPage(t);
    await dropFiles(page, file.path);
    const link = await linkOf(page);
    while (!(await isHeld(app, link)));
    await page.getByTestId('transfer-cancel').click();
    await stateIs(page, 'Cancelled.');
    while (await isHeld(app, link));
    // The page asks for the key to free it (`release` in send-file.js). If the app still has the sender then, it
    // cuts that answer, and the browser reports this link, and nothing else, as reset.
    const cut = [
      `net::ERR_CONNECTION_RESET: ${link}`,
      'Failed to load resource: net::ERR_CONNECTION_RESET',
    ];
    assert.deepEqual(
      problems.filter((text) => !cut.includes(text)),
      [],
    );
  });
});

describe('the place for files', () => {
  it('keeps hostile names, and types, as they are', async (t) => {
    const { page, problems } = await openPage(t);
    const names = [
      ['naïve "quotes" & 100 %.txt', 'naïve _quotes_ & 100 %.txt'],
      ["<img src=x onerror=alert(1)>';\\.html", "_img src=x onerror=alert(1)_';_.html"],
      ['麻杏石甘 👩 (1)*.pdf', '麻杏石甘 👩 (1)_.pdf'],
    ];
    for (const [name, saved] of names) {
      const buffer = Buffer.from(`<script>alert(1)</script>${name}`);
      await page.getByTestId('file-input').setInputFiles({ name, mimeType: 'text/html', buffer });
      const link = await linkOf(page);
      assert.equal(await page.getByTestId('transfer-name').textContent(), name);
      const phone = await (await browser.newContext()).newPage();
      t.after(() => phone.context().close());
      const [download] = await Promise.all([
        phone.waitForEvent('download'),
        phone.goto(link).catch(() => {}), // a download is no page
      ]);
      assert.equal(download.suggestedFilename(), saved);
      assert.deepEqual(readFileSync(await download.path()), buffer);
      await stateIs(page, 'Received.');
      await page.getByTestId('transfer-again').click();
    }
    assert.deepEqual(problems, []);
  });

  it('sends an empty file, by keyboard alone', async (t) => {
    const { page, problems } = await openPage(t);
    await page.getByTestId('link-submit').focus();
    await page.keyboard.press('Tab');
    const focused = () => page.evaluate(() => document.activeElement.id);
    const chosen = page.waitForEvent('filechooser');
    // The answer comes after the line above has taken effect, so the browser now waits for a choice.
    assert.equal(await focused(), 'file-input');
    await page.keyboard.press('Enter');
    const chooser = await chosen;
    await chooser.setFiles({ name: 'empty', mimeType: '', buffer: Buffer.alloc(0) });
    const link = await linkOf(page);
    assert.equal(await focused(), 'transfer-cancel');
    const answer = await receive(link);
    assert.equal(answer.headers['content-length'], '0');
    answer.resume();
    await stateIs(page, 'Received.');
    assert.equal(await focused(), 'transfer-again');
    await page.keyboard.press('Enter');
    assert.equal(await focused(), 'file-input');
    assert.deepEqual(problems, []);
  });

  it('takes one file at a time, and no folder', async (t) => {
    const folder = temporaryFolder(t);
    const files = ['a', 'b'].map((name) => join(folder, name));
    for (const file of files) writeFileSync(file, file);
    const { page } = await openPage(t);
    const error = page.getByTestId('file-error');
    await dropFiles(page, ...files);
    await error.getByText('pack several into one').waitFor();
    await dropFiles(page, folder);
    await error.getByText('This cannot be read.').waitFor();
    assert.equal(await page.getByTestId('transfer').isVisible(), false);
    await dropFiles(page, files[0]);
    const link = await linkOf(page);
    assert.equal(await error.textContent(), '');
    await dropFiles(page, files[1]);
    await error.getByText('wait for this one to end').waitFor();
    assert.equal(await linkOf(page), link);
  });

  it('asks before the page closes while it sends', LONG, async (t) => {
    // A separate browser, because Chromium has crashed when a page closed while its question was being answered.
    const own = await launchBrowser();
    t.after(() => own.close());
    const { page } = await open(own, t, app.url);
    const asked = [];
    page.on('dialog', (dialog) => asked.push(dialog.type()));
    const input = page.getByTestId('file-input');
    await input.setInputFiles({ name: 'a', mimeType: '', buffer: Buffer.from('a') });
    await linkOf(page);
    await page.getByTestId('transfer-name').click(); // browsers ask only who has touched the page
    await page.close({ runBeforeUnload: true });
    while (asked.length === 0) await page.waitForTimeout(20);
    assert.deepEqual(asked, ['beforeunload']);
    await page.evaluate(() => {}); // the question has been answered
  });

  for (const [says, env] of [
    ['Nobody opened the link in time.', { RELAY_WAIT_TIMEOUT_SECONDS: '0.3' }],
    ['Too many files are waiting', { RELAY_MAX_WAITING_KEYS: '1' }],
  ]) {
    it(`says: ${says}`, LONG, async (t) => {
      const small = await startApp(t, env);
      const { page } = await openPage(t, {}, small.url);
      if (env.RELAY_MAX_WAITING_KEYS) {
        const other = `${small.url}/p/other`;
        const waiting = get(other, { agent: false }).on('error', () => {});
        t.after(() => waiting.destroy());
        while (!(await isHeld(small, other)));
      }
      for (const bytes of [1, 30 * MB]) {
        await dropFiles(page, randomFile(t, bytes).path);
        await stateIs(page, bytes === 1 ? says : new RegExp(`${says}|The wait has ended`));
        await page.getByTestId('transfer-again').click();
      }
    });
  }

  it('says that the relay cannot be reached', async (t) => {
    const { url, kill, exited } = await startApp(t);
    const { page } = await openPage(t, {}, url);
    kill('SIGKILL');
    await exited;
    await dropFiles(page, randomFile(t, 1).path);
    await stateIs(page, 'The relay cannot be reached.');
  });

  it('is not there where the halves of a pair may meet different processes', LONG, async (t) => {
    const off = [{ WORKERS: '2' }, { PAGE_FILES: 'off' }];
    for (const [env, count] of [
      ...off.map((one) => [one, 0]),
      [{ WORKERS: '2', PAGE_FILES: 'on' }, 1],
    ]) {
      const { url } = await startApp(t, env);
      const { page, problems } = await openPage(t, {}, url);
      await page.getByTestId('latest-empty').waitFor();
      assert.equal(await page.getByTestId('files').count(), count, JSON.stringify(env));
      assert.deepEqual(problems, []);
    }
  });

  for (const colorScheme of ['light', 'dark']) {
    for (const [name, width] of [
      ['wide', 1000],
      ['phone', 360],
    ]) {
      it(`fits a ${name} screen, ${colorScheme}, and its code can be scanned`, async (t) => {
        const options = { colorScheme, viewport: { width, height: 800 } };
        const { page, problems } = await openPage(t, options);
        await picture(page, `files-empty-${name}-${colorScheme}`);
        const file = randomFile(t, 30 * MB, `${'a-very-long-name'.repeat(10)}.bin`);
        await dropFiles(page, file.path);
        const link = await linkOf(page);
        await page.waitForFunction(() => document.getElementById('transfer-qr').naturalWidth > 0);
        const scanned = await decodeQr(await page.screenshot({ fullPage: true }));
        assert.equal(scanned?.bytes.toString(), link);
        assert.equal(await overflowOf(page), 0);
        assert.deepEqual(await findingsOf(page), []);
        await picture(page, `files-waiting-${name}-${colorScheme}`);
        (await receive(link)).resume();
        await stateIs(page, 'Received.');
        await picture(page, `files-received-${name}-${colorScheme}`);
        assert.deepEqual(problems, []);
      });
    }
  }
});
