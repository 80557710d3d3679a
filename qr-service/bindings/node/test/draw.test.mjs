import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { draw, QrError } from '../index.js';
import { assertDrawsCases } from './support/cases.mjs';

describe('draw', () => {
  it('gives the bytes or the faults of the service, for an object and for a query', () =>
    assertDrawsCases(draw, Buffer));

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
    assert.throws(() => draw({ text: '\ud83d' }), QrError);
    const cycle = {};
    cycle.text = cycle;
    assert.throws(() => draw(cycle), { name: 'TypeError' });
    assert.throws(() => draw([]), { code: 'ERR_QR_FAULTS' });
  });
});
