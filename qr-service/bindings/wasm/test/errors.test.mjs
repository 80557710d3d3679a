import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import addon from '../../node/index.js';
import { failures } from '../../node/test/support/failures.mjs';
import { generate } from './support/modules.mjs';

/** Checks that the module throws this error, to the letter as the addon does, with a stack. */
async function assertFails(args, expected) {
  assert.throws(() => generate(...args), expected);
  const thrown = [addon.generate, generate].map((call) => {
    try {
      return call(...args);
    } catch ({ name, code, message, stack }) {
      assert.ok(!code || stack.includes(import.meta.filename), stack);
      return { name, code, message };
    }
  });
  assert.deepEqual(thrown[1], thrown[0]);
}

describe("errors are the addon's", () => {
  for (const [what, pass] of Object.entries(failures)) it(what, () => pass(assertFails));
});
