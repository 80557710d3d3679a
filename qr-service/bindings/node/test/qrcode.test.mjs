import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { draw, drawAsync, toBuffer, toDataURL, toFile, toString } from '../index.js';

describe('drawAsync', () => {
  it('gives what draw gives, and rejects with what it throws', async () => {
    const options = { text: 'hello', format: 'svg', dark: '#036' };
    assert.deepEqual(await drawAsync(options), draw(options));
    assert.deepEqual(await drawAsync('text=hello&size=300'), draw({ text: 'hello', size: 300 }));
    await assert.rejects(drawAsync({ text: 'hello', size: 0 }), { code: 'ERR_QR_FAULTS' });
    await assert.rejects(drawAsync(1), { code: 'ERR_INVALID_ARG_TYPE' });
  });

  it('takes names in camel case, and no number that JSON has not', () => {
    const camel = draw({ text: 'hello', format: 'pdf', widthMm: 25, versionMin: 3 });
    assert.deepEqual(camel, draw({ text: 'hello', format: 'pdf', width_mm: 25, version_min: 3 }));
    for (const size of [NaN, Infinity])
      assert.throws(() => draw({ text: 'hello', size }), { code: 'ERR_INVALID_ARG_TYPE' });
  });
});

describe("the functions of npm's qrcode", () => {
  it('draw with its options', async () => {
    const ours = draw({ text: 'hello', level: 'H', scale: 4, dark: '#003366ff', mask: 2 }).bytes;
    const theirs = { errorCorrectionLevel: 'high', color: { dark: '#003366ff' }, maskPattern: 2 };
    assert.deepEqual(await toBuffer('hello', theirs), ours);
    assert.equal(
      await toDataURL('hello', theirs),
      `data:image/png;base64,${ours.toString('base64')}`,
    );
    const wide = draw({ text: 'hello', size: 300, margin: 2, version_min: 5, version_max: 5 });
    assert.deepEqual(await toBuffer('hello', { width: 300, margin: 2, version: 5 }), wide.bytes);
    const bytes = Uint8Array.of(0, 255, 128);
    assert.deepEqual(
      await toBuffer(bytes, { width: 200 }),
      draw({ data: 'AP+A', size: 200 }).bytes,
    );
    await assert.rejects(toBuffer('', {}), { code: 'ERR_QR_FAULTS' });
  });

  it('refuse segments and callbacks, which they would ignore', async () => {
    const segments = [{ data: 'ABC', mode: 'alphanumeric' }];
    const callback = () => assert.fail('it is not called');
    for (const [make, ...before] of [[toBuffer], [toDataURL], [toString], [toFile, 'a.png']])
      for (const [what, ...more] of [
        [/not segments/, segments],
        [/callbacks/, 'hello', callback],
        [/callbacks/, 'hello', {}, callback],
      ])
        await assert.rejects(make(...before, ...more), {
          code: 'ERR_INVALID_ARG_TYPE',
          message: what,
        });
  });

  it('make strings and files', async () => {
    const svg = draw({ text: 'hello', format: 'svg' }).bytes.toString();
    assert.equal(await toString('hello', { type: 'svg' }), svg);
    assert.equal(await toString('hello'), draw({ text: 'hello', format: 'txt' }).bytes.toString());
    const folder = mkdtempSync(join(tmpdir(), 'qr-node-'));
    try {
      await toFile(join(folder, 'a.svg'), 'hello');
      assert.equal(readFileSync(join(folder, 'a.svg'), 'utf8'), svg);
      await toFile(join(folder, 'a.png'), 'hello', { width: 300 });
      assert.deepEqual(readFileSync(join(folder, 'a.png')), draw('text=hello&size=300').bytes);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
