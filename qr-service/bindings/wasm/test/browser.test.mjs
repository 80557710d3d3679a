/** Tests the web build in Chromium. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, describe, it } from 'node:test';
import { launchBrowser } from '../../../../legacy-node/test/support/browser.js';
import { decodeQr } from '../../../../legacy-node/test/support/decoder.js';
import { cases } from '../../node/test/support/cases.mjs';
import { drawByCore } from '../../node/test/support/core.mjs';
import { built } from './support/modules.mjs';

const PAGE = `<!doctype html><title>QR</title><link rel="icon" href="data:,"><img id="qr" alt="">`;
const TYPES = { js: 'text/javascript', wasm: 'application/wasm' };

const server = createServer(async (request, response) => {
  if (request.url === '/') return response.setHeader('Content-Type', 'text/html').end(PAGE);
  try {
    const body = await readFile(`${built}web${new URL(request.url, 'http://x').pathname}`);
    response.setHeader('Content-Type', TYPES[request.url.split('.').pop()]).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());

const browser = await launchBrowser();
after(() => browser.close());

const page = await browser.newPage();
const problems = [];
page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
page.on('pageerror', (error) => problems.push(String(error)));
await page.goto(`http://127.0.0.1:${server.address().port}/`);

describe('in a browser', () => {
  it("a picture decodes and has qr-core's bytes", async () => {
    const text = 'https://example.com/?from=a browser 😀';
    const bytes = await page.evaluate(async (shown) => {
      const { default: init, generate } = await import('/qr_wasm.js');
      await init();
      const png = generate(shown);
      const image = document.getElementById('qr');
      image.src = URL.createObjectURL(new Blob([png], { type: 'image/png' }));
      await image.decode();
      return [...png];
    }, text);
    const [expected] = drawByCore([{ text }]);
    assert.ok(expected.equals(Buffer.from(bytes)));
    const decoded = await decodeQr(await page.screenshot());
    assert.equal(decoded?.bytes.toString(), text);
    assert.deepEqual(problems, []);
  });

  it("errors are instances of the page's classes", async () => {
    const seen = await page.evaluate(async () => {
      const { default: init, generate } = await import('/qr_wasm.js');
      await init();
      try {
        generate('x', { size: 28 });
      } catch (error) {
        return { range: error instanceof RangeError, code: error.code };
      }
    });
    assert.deepEqual(seen, { range: true, code: 'ERR_QR_TOO_SMALL' });
  });

  it('draw has the bytes that the service sends', async () => {
    const { options, ...expected } = cases.find(({ options }) => options.shape === 'dots');
    const drawn = await page.evaluate(async (asked) => {
      const { default: init, draw } = await import('/qr_wasm_draw.js');
      await init();
      const { bytes, mediaType } = draw(asked);
      let code;
      try {
        draw({ ...asked, size: 0 });
      } catch (error) {
        code = error instanceof Error && error.code;
      }
      return { bytes: [...bytes], mediaType, code };
    }, options);
    const sha256 = createHash('sha256').update(Buffer.from(drawn.bytes)).digest('hex');
    assert.deepEqual({ media_type: drawn.mediaType, sha256 }, expected);
    assert.equal(drawn.code, 'ERR_QR_FAULTS');
    assert.deepEqual(problems, []);
  });

  it('memory does not grow over 20,000 calls, failing ones included', async () => {
    const { before, after, failed } = await page.evaluate(async () => {
      const { default: init, generate } = await import('/qr_wasm.js');
      const { memory } = await init();
      let failed = 0;
      const call = (number) => {
        generate(`https://example.com/${number % 7919}`);
        if (number % 10) return;
        try {
          generate('x', { size: 20 });
        } catch {
          failed++;
        }
      };
      for (let number = 0; number < 100; number++) call(number);
      const before = memory.buffer.byteLength;
      for (let number = 0; number < 20_000; number++) call(number);
      return { before, after: memory.buffer.byteLength, failed };
    });
    assert.equal(after, before);
    assert.equal(failed, 2_010);
  });
});
