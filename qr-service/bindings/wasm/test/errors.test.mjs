import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import addon from '../../node/index.js';
import { generate } from './support/modules.mjs';

function thrownBy(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  assert.fail('nothing was thrown');
}

/** Checks that the module throws the addon's error; the addon's own tests check which one it is. */
function assertFailsAsAddon(...args) {
  const { name, code, message } = thrownBy(() => addon.generate(...args));
  assert.match(code, /^ERR_/);
  const error = thrownBy(() => generate(...args));
  assert.deepEqual(
    { name: error.name, code: error.code, message: error.message },
    { name, code, message },
  );
  assert.ok(error instanceof Error && error.stack.includes(import.meta.filename));
}

describe("errors are the addon's", () => {
  it('for wrong types', () => {
    assertFailsAsAddon();
    for (const text of [undefined, null, 1, 1n, true, {}, [], Symbol('x'), Buffer.from('x')])
      assertFailsAsAddon(text);
    for (const options of [null, 1, 'L', true, () => {}]) assertFailsAsAddon('x', options);
    for (const key of ['size', 'margin', 'level'])
      for (const value of [null, {}, 1n, true, key === 'level' ? 1 : '200'])
        assertFailsAsAddon('x', { [key]: value });
  });

  it('for a lone surrogate, also beside U+FFFD', () => {
    for (const text of ['\ud83d', 'a\ude00b', '\ude00\ud83d', '😀\ud83d', '\ufffd\ud83d'])
      assertFailsAsAddon(text);
  });

  it('for numbers that are not whole or out of range', () => {
    for (const key of ['size', 'margin'])
      for (const value of [-1, 1.5, NaN, Infinity, -Infinity, 16385, 2 ** 32 + 200, 1e300])
        assertFailsAsAddon('x', { [key]: value });
    assertFailsAsAddon('x', { size: 0 });
  });

  it('for unknown levels', () => {
    for (const level of ['', 'l', 'X', 'LM', 'é', '\0', '\ud800', 'L'.repeat(1e6)])
      assertFailsAsAddon('x', { level });
  });

  it('for texts that are too long, and sizes that are too small', () => {
    for (const [level, digits] of Object.entries({ L: 7089, M: 5596, Q: 3993, H: 3057 }))
      assertFailsAsAddon('7'.repeat(digits + 1), { level, size: 600 });
    assertFailsAsAddon('é'.repeat(1477), { size: 600 });
    assertFailsAsAddon('secret'.repeat(2 ** 20));
    assertFailsAsAddon('x', { size: 28 });
    assertFailsAsAddon('x', { margin: 8181 });
  });

  it('except those of a getter, which pass through unchanged', () => {
    for (const key of ['size', 'margin', 'level']) {
      const fromGetter = new SyntaxError('from a getter');
      const options = Object.defineProperty({}, key, {
        get() {
          throw fromGetter;
        },
      });
      assert.equal(
        thrownBy(() => generate('x', options)),
        fromGetter,
      );
    }
  });
});
