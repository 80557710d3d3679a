import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generate, generateAsync } from '../index.js';
import { failures } from './support/failures.mjs';

/** Checks that `generate` throws the error and `generateAsync` rejects with it. */
async function assertFails(args, expected) {
  assert.throws(() => generate(...args), expected);
  const promise = generateAsync(...args);
  assert.ok(promise instanceof Promise);
  await assert.rejects(promise, expected);
}

describe('errors', () => {
  for (const [what, pass] of Object.entries(failures)) it(what, () => pass(assertFails));

  it('for half a gigabyte of text, too', () =>
    assertFails(['x'.repeat(2 ** 28)], { code: 'ERR_QR_TOO_LONG' }));

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
