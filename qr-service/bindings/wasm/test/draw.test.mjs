import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { cases, queryOf } from '../../node/test/support/cases.mjs';
import { built, draw } from './support/modules.mjs';

/** Whether the module leaves out what the options need. */
function isLeftOut({ format, mode, shape, finder_shape }) {
  const isShaped = shape !== undefined || finder_shape !== undefined;
  return (
    ['pdf', 'eps'].includes(format) ||
    ['kanji', 'auto-kanji'].includes(mode) ||
    (isShaped && format !== 'svg')
  );
}

function resultOf(options) {
  try {
    const { bytes, mediaType } = draw(options);
    assert.equal(bytes.constructor, Uint8Array);
    return { media_type: mediaType, sha256: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    assert.ok(error instanceof Error && error.name === 'QrError', error);
    assert.equal(error.code, 'ERR_QR_FAULTS');
    return { faults: error.faults.map(({ parameter, code }) => `${parameter} ${code}`) };
  }
}

describe('draw', () => {
  it('gives the bytes or the faults of the service, for an object and for a query', () => {
    const used = cases.filter(({ options }) => !isLeftOut(options));
    assert.ok(used.length > 25);
    for (const { options, ...expected } of used) {
      assert.deepEqual(resultOf(options), expected, JSON.stringify(options));
      assert.deepEqual(resultOf(queryOf(options)), expected, queryOf(options));
    }
  });

  it('refuses what the module leaves out', () => {
    const left = cases.filter(({ options }) => isLeftOut(options));
    assert.ok(left.length >= 5);
    for (const { options } of left)
      assert.match(resultOf(options).faults.join(), /^(format|mode|shape) not-allowed/);
  });

  it('refuses what is neither an object nor a string, and lone surrogates', () => {
    for (const options of [undefined, null, 1, true])
      assert.throws(() => draw(options), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
    assert.throws(() => draw('text=\ud83d'), { name: 'TypeError', code: 'ERR_QR_LONE_SURROGATE' });
    assert.throws(() => draw({ text: '\ud83d' }), { code: 'ERR_QR_FAULTS' });
  });

  it('leaves the module below 400 kB', () => {
    assert.ok(statSync(`${built}nodejs/qr_wasm_bg.wasm`).size < 400_000);
  });
});
