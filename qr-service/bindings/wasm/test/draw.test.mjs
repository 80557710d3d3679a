/** Tests the module with every option, and that the smaller module has no part of it. */
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';
import addon from '../../node/index.js';
import { assertDrawsCases, cases, queryOf, resultOf } from '../../node/test/support/cases.mjs';
import { assertDecodes } from '../../node/test/support/decoding.mjs';
import { built, draw, generate, generateOfDraw } from './support/modules.mjs';

/** Returns the fields of the error that a function throws, without its stack. */
function thrownBy(call) {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof Error && error.stack.includes(import.meta.filename), error);
    const { name, code, message, faults } = error;
    return { name, code, message, faults };
  }
  assert.fail('nothing was thrown');
}

function assertFailsAsAddon(options) {
  assert.deepEqual(
    thrownBy(() => draw(options)),
    thrownBy(() => addon.draw(options)),
  );
}

describe('draw', () => {
  it('gives the bytes or the faults of the service, for an object and for a query', () =>
    assertDrawsCases(draw, Uint8Array));

  it("throws the addon's error with all its faults, for an object and for a query", () => {
    const wrong = cases.filter(({ faults }) => faults);
    assert.ok(wrong.length > 10);
    for (const { options } of wrong) {
      assertFailsAsAddon(options);
      assertFailsAsAddon(queryOf(options));
    }
    for (const options of [[], {}, '', 'text=%zz', '&&=', { text: 1 }, { text: '\ud83d' }])
      assertFailsAsAddon(options);
  });

  it("throws the addon's errors for what is no options, and for lone surrogates", () => {
    for (const options of [undefined, null, 1, 1n, true, Symbol('x'), () => {}, 'text=\ud83d'])
      assertFailsAsAddon(options);
    assertFailsAsAddon('text=\ufffd\ud83d');
    assert.equal(draw('text=\ufffd').mediaType, 'image/png');
    const thrown = new SyntaxError('from a getter');
    const options = {
      get text() {
        throw thrown;
      },
    };
    assert.throws(
      () => draw(options),
      (error) => error === thrown,
    );
    const cycle = {};
    cycle.text = cycle;
    assert.throws(() => draw(cycle), TypeError);
    assert.throws(() => draw({ toJSON() {} }), { code: 'ERR_INVALID_ARG_TYPE' });
  });

  it('does not copy options of more than a million characters', () => {
    const expected = { name: 'RangeError', code: 'ERR_QR_TOO_LONG' };
    for (const options of ['text='.padEnd(2 ** 20 + 1, 'x'), { text: 'x'.repeat(2 ** 24) }])
      assert.throws(() => draw(options), expected);
    assert.deepEqual(resultOf(draw, Uint8Array, 'text='.padEnd(2 ** 20, 'x')).faults, [
      'text out-of-range',
    ]);
  });

  it('decodes to any text', async () => {
    const drawPng = (text, { size }) => draw({ text, size }).bytes;
    for (const text of ['https://example.com/', 'grüße, 世界 🦀\n', 'a\0b', '7'.repeat(5596)])
      await assertDecodes(drawPng, text, 'M', 900);
  });

  it('shares no memory with another picture', () => {
    const { bytes } = draw('text=x');
    const before = Buffer.from(bytes);
    draw('text=x').bytes.fill(0);
    assert.ok(before.equals(bytes));
    assert.equal(bytes.buffer.byteLength, bytes.length);
  });

  it('has generate beside it, with the same bytes as the module without draw', () => {
    const options = { size: 333, margin: 2, level: 'Q' };
    assert.deepEqual(generateOfDraw('any text', options), generate('any text', options));
  });
});

describe('memory', () => {
  it('does not grow over 2,000 draws, failing ones included', async () => {
    // The build for browsers shows its memory; Node can load it too.
    const { draw, initSync } = await import(`${built}web/qr_wasm_draw.js`);
    const { memory } = initSync({ module: readFileSync(`${built}web/qr_wasm_draw_bg.wasm`) });
    let failed = 0;
    const drawAll = (some, times) => {
      for (let call = 0; call < times; call++) {
        const { options } = some[call % some.length];
        try {
          draw(call % 2 ? options : queryOf(options));
        } catch (error) {
          assert.equal(error.code, 'ERR_QR_FAULTS');
          failed++;
        }
      }
    };
    // Shapes as PNG take milliseconds, so they are drawn less often.
    const quick = cases.filter(({ options }) => !options.shape && !(options.size >= 500));
    drawAll(cases, 2 * cases.length);
    const before = memory.buffer.byteLength;
    drawAll(quick, 2_000);
    drawAll(cases, 4 * cases.length);
    assert.equal(memory.buffer.byteLength, before);
    assert.ok(failed > 400);
  });
});

describe('the module without draw', () => {
  const exportsOf = (name) =>
    WebAssembly.Module.exports(new WebAssembly.Module(readFileSync(`${built}nodejs/${name}`)))
      .filter(({ kind, name }) => kind === 'function' && !name.startsWith('__'))
      .map(({ name }) => name);

  it('has no part of it', () => {
    assert.deepEqual(exportsOf('qr_wasm_bg.wasm'), ['generate']);
    assert.deepEqual(exportsOf('qr_wasm_draw_bg.wasm').sort(), ['draw', 'generate']);
    const size = (name) => statSync(`${built}nodejs/${name}`).size;
    // With draw, the smaller module would be three times as large.
    const [without, all] = ['qr_wasm_bg.wasm', 'qr_wasm_draw_bg.wasm'].map(size);
    assert.ok(2 * without < all, `${without} of ${all} bytes`);
  });
});
