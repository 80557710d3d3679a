import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { generate, generateAsync } from '../index.js';

const run = promisify(execFile);
const addon = fileURLToPath(new URL('../index.js', import.meta.url));

describe('generateAsync', () => {
  it('serves 1000 calls at once, each with its own picture', async () => {
    const texts = Array.from({ length: 1000 }, (_, index) => `https://example.com/${index}`);
    const pictures = await Promise.all(texts.map((text) => generateAsync(text)));
    for (const [index, text] of texts.entries())
      assert.ok(pictures[index].equals(generate(text)), text);
  });

  it('leaves the event loop free during large pictures', async () => {
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    await Promise.all(
      Array.from({ length: 20 }, () => generateAsync('x'.repeat(2000), { size: 16384 })),
    );
    clearInterval(ticking);
    assert.ok(turns > 0);
  });

  it('works in worker threads, which may end during calls', async () => {
    const source = `
      const { parentPort } = require('node:worker_threads');
      const { generate, generateAsync } = require(${JSON.stringify(addon)});
      for (let i = 0; i < 500; i++) generateAsync('left ' + i, { size: 2000 });
      parentPort.postMessage(generate('from a worker'));
      setImmediate(() => process.exit(0));
    `;
    const workers = Array.from({ length: 4 }, async () => {
      const worker = new Worker(source, { eval: true });
      const left = new Promise((resolve) => worker.once('exit', resolve));
      const failed = new Promise((_, reject) => worker.once('error', reject));
      const message = new Promise((resolve) => worker.once('message', resolve));
      const picture = await Promise.race([message, failed]);
      assert.equal(await left, 0);
      assert.ok(generate('from a worker').equals(picture));
    });
    await Promise.all(workers);
  });
});

describe('memory', () => {
  const script = fileURLToPath(new URL('./support/leak.mjs', import.meta.url));
  // By default V8's young generation grows by tens of megabytes, which would hide a leak.
  const flags = ['--expose-gc', '--max-semi-space-size=1'];
  for (const form of ['generate', 'generateAsync', 'failing'])
    it(`does not grow over 100,000 calls: ${form}`, async () => {
      const { stdout } = await run(process.execPath, [...flags, script, form]);
      const { before, after } = JSON.parse(stdout);
      // A leak of 100 bytes per call would be 10 MB.
      assert.ok(after - before < 5e6, `${form}: ${before} to ${after} bytes resident`);
    });
});
