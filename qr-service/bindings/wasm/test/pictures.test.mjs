import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { itDrawsAsCore } from '../../node/test/support/pictures.mjs';
import { callRaw, generate, instantiateRaw } from './support/modules.mjs';

describe('the picture', () => {
  const raw = instantiateRaw();
  it('is a Uint8Array', () => assert.equal(generate('x').constructor, Uint8Array));
  itDrawsAsCore(generate, { raw: (text, options) => callRaw(raw, text, options) });
});

describe('memory', () => {
  const text = (call) => `https://example.com/${call % 7919}`;

  it('of the raw module does not grow over 20,000 calls', () => {
    const fresh = instantiateRaw();
    for (let call = 0; call < 100; call++) callRaw(fresh, text(call));
    const before = fresh.memory.buffer.byteLength;
    for (let call = 0; call < 20_000; call++) callRaw(fresh, text(call), { margin: call % 60 });
    assert.equal(fresh.memory.buffer.byteLength, before);
  });
});
