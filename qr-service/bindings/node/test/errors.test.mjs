import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generate, generateAsync } from '../index.js';

/** Checks that `generate` throws the error and `generateAsync` rejects with it. */
async function assertFails(args, expected) {
  assert.throws(() => generate(...args), expected);
  const promise = generateAsync(...args);
  assert.ok(promise instanceof Promise);
  await assert.rejects(promise, expected);
}

describe('errors', () => {
  it('are TypeErrors for wrong types', async () => {
    const code = 'ERR_INVALID_ARG_TYPE';
    for (const text of [undefined, null, 1, 1n, true, {}, [], Symbol('x'), Buffer.from('x')])
      await assertFails([text], { name: 'TypeError', code, message: 'text must be a string' });
    await assertFails([], { name: 'TypeError', code });
    for (const options of [null, 1, 'L', true, () => {}]) {
      const message = 'options must be an object';
      await assertFails(['x', options], { name: 'TypeError', code, message });
    }
    for (const [key, what] of Object.entries({ size: 'number', margin: 'number', level: 'string' }))
      for (const value of [null, {}, 1n, true, what === 'number' ? '200' : 1]) {
        const message = `options.${key} must be a ${what}`;
        await assertFails(['x', { [key]: value }], { name: 'TypeError', code, message });
      }
  });

  it('report a lone surrogate, which Node-API would replace', async () => {
    for (const text of ['\ud83d', 'a\ude00b', '\ude00\ud83d', '😀\ud83d'])
      await assertFails([text], { name: 'TypeError', code: 'ERR_QR_LONE_SURROGATE' });
  });

  it('report numbers that are not whole or out of range', async () => {
    const numbers = [-1, 1.5, NaN, Infinity, -Infinity, 16385, 2 ** 32 + 200, 1e300];
    for (const key of ['size', 'margin'])
      for (const value of numbers)
        await assertFails(['x', { [key]: value }], {
          name: 'RangeError',
          code: 'ERR_OUT_OF_RANGE',
          message: new RegExp(`^options.${key} must be a whole number from`),
        });
    await assertFails(['x', { size: 0 }], { code: 'ERR_OUT_OF_RANGE' });
  });

  it('report unknown levels', async () => {
    for (const level of ['', 'l', 'X', 'LM', 'é', '\0', 'L'.repeat(1e6)])
      await assertFails(['x', { level }], { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' });
  });

  it('report a text that is too long', async () => {
    const expected = { name: 'RangeError', code: 'ERR_QR_TOO_LONG' };
    const digits = { L: 7089, M: 5596, Q: 3993, H: 3057 };
    for (const [level, capacity] of Object.entries(digits))
      await assertFails(['7'.repeat(capacity + 1), { level, size: 600 }], expected);
    await assertFails(['é'.repeat(1477), { size: 600 }], expected);
    await assertFails(['x'.repeat(2 ** 28)], expected);
  });

  it('give the least size that is large enough', async () => {
    const expected = { name: 'RangeError', code: 'ERR_QR_TOO_SMALL', message: /at least 29 / };
    await assertFails(['x', { size: 28 }], expected);
    assert.ok(generate('x', { size: 29 }));
    await assertFails(['x', { margin: 8181 }], { code: 'ERR_QR_TOO_SMALL' });
  });

  it('of a getter pass through unchanged', async () => {
    for (const key of ['size', 'margin', 'level']) {
      const thrown = new SyntaxError('from a getter');
      const options = Object.defineProperty({}, key, {
        get() {
          throw thrown;
        },
      });
      await assertFails(['x', options], (error) => error === thrown);
    }
  });

  it('have a stack, and none repeats the text', async () => {
    for (const text of ['secret'.repeat(2000), `secret\ud800`]) {
      assert.throws(
        () => generate(text),
        (error) =>
          error instanceof Error &&
          error.stack.includes(import.meta.filename) &&
          !error.message.includes('secret'),
      );
    }
  });
});
