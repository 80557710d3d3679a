/**
 * Makes the pictures in docs/screenshots: a recording of a ramp on the live page, and the page on a phone after it. It
 * moves the traffic of a separate stack: ../README.md has the command.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { launchBrowser } from '../../../legacy-node/test/support/browser.js';
import { animate } from './animation.js';

const { STACK_URL: stackUrl, STACK_ADMIN_URL: address } = process.env;
assert.ok(address, 'dashboards/live/README.md has the command');
const programs = new URL('../../../target/plain/', import.meta.url).pathname;
const folder = new URL('../../../docs/screenshots/', import.meta.url).pathname;

const wide = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };
/** The recording is half as large as the page. */
const half = 0.5;
const frames = 14;

/** Opens the page. Returns a function that takes a picture of its window. */
async function open(viewport, colorScheme, scale) {
  const page = await browser.newPage({ viewport, colorScheme });
  await page.goto(address);
  await page.locator('input[value="5m"]').check();
  await page.getByText(/^As of \d/).waitFor();
  // The charts draw their new range.
  await setTimeout(2000);
  const session = await page.context().newCDPSession(page);
  const options = { format: 'webp', quality: 65, clip: { x: 0, y: 0, ...viewport, scale } };
  return async () => {
    const { data } = await session.send('Page.captureScreenshot', options);
    return Buffer.from(data, 'base64');
  };
}

const browser = await launchBrowser();
const load = ['--url', stackUrl, '--rate', '20', '--duration', '30m'];
const clients = spawn(`${programs}load`, load, { stdio: 'ignore' });
try {
  const cameras = {};
  for (const scheme of ['light', 'dark']) cameras[scheme] = await open(wide, scheme, half);

  const steps = ['ramp', '--steps', '5,25,50,100', '--hold', '20s'];
  const ramp = spawn(`${programs}carve`, steps, { stdio: 'inherit' });
  const ended = once(ramp, 'exit');
  const taken = [];
  for (let done = false; !done; ) {
    // The page refreshes every 5 s, and may show the end only after two refreshes.
    done = await Promise.race([ended.then(() => true), setTimeout(5000, false)]);
    if (done) await setTimeout(12_000);
    const pictures = {};
    for (const [scheme, take] of Object.entries(cameras)) pictures[scheme] = await take();
    taken.push(pictures);
  }
  const [code] = await ended;
  assert.equal(code, 0, 'the ramp has to reach 100 %');

  const every = Math.ceil(taken.length / frames);
  const chosen = taken.filter((_, index) => (taken.length - 1 - index) % every === 0);
  const size = { width: wide.width * half, height: wide.height * half };
  for (const scheme of Object.keys(cameras)) {
    const recording = chosen.map((pictures, index) => ({
      picture: pictures[scheme],
      milliseconds: index === chosen.length - 1 ? 4000 : 700,
    }));
    writeFileSync(`${folder}ramp-${scheme}.webp`, animate(recording, size));
    const take = await open(phone, scheme, 1);
    writeFileSync(`${folder}phone-${scheme}.webp`, await take());
  }
} finally {
  clients.kill();
  await browser.close();
}
