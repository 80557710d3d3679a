import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { draw, QrError } from '../index.js';
import { cases, queryOf } from './support/cases.mjs';

/** Draws a case; returns the result in the form that the cases have. */
function resultOf(options) {
  try {
    const { bytes, mediaType } = draw(options);
    assert.ok(Buffer.isBuffer(bytes));
    return { media_type: mediaType, sha256: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    assert.ok(error instanceof QrError && error.code === 'ERR_QR_FAULTS', error);
    return { faults: error.faults.map(({ parameter, code }) => `${parameter} ${code}`) };
  }
}

describe('draw', () => {
  it('gives the bytes or the faults of the service, for an object and for a query', () => {
    assert.ok(cases.length > 30);
    for (const { options, ...expected } of cases) {
      assert.deepEqual(resultOf(options), expected, JSON.stringify(options));
      assert.deepEqual(resultOf(queryOf(options)), expected, queryOf(options));
    }
  });

  it('says what would work', () => {
    assert.throws(() => draw({ text: 'secret', size: 20 }), {
      name: 'QrError',
      message: 'size: the symbol and its margin need 29 px',
      faults: [
        {
          parameter: 'size',
          code: 'size',
          detail: 'the symbol and its margin need 29 px',
          minimum: 29,
        },
      ],
    });
  });

  it('refuses what is neither an object nor a string, and lone surrogates', () => {
    for (const options of [undefined, null, 1, true, Symbol('x'), () => {}])
      assert.throws(() => draw(options), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
    assert.throws(() => draw('text=\ud83d'), { name: 'TypeError', code: 'ERR_QR_LONE_SURROGATE' });
    assert.throws(() => draw({ text: '\ud83d' }), { code: 'ERR_QR_FAULTS' });
    const cycle = {};
    cycle.text = cycle;
    assert.throws(() => draw(cycle), { name: 'TypeError' });
    assert.throws(() => draw([]), { code: 'ERR_QR_FAULTS' });
  });
});
