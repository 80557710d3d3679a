import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drawByCore } from '../../node/test/support/core.mjs';
import { assertDecodes } from '../../node/test/support/decoding.mjs';
import { randomText, seededRandom } from '../../node/test/support/texts.mjs';
import { callRaw, generate, instantiateRaw, LEVELS } from './support/modules.mjs';

const raw = instantiateRaw();
const FORMS = { generate, raw: (text, options) => callRaw(raw, text, options) };

/** Checks that both modules draw qr-core's bytes. */
function assertSameAsCore(requests) {
  const expected = drawByCore(requests);
  assert.equal(expected.length, requests.length);
  for (const [index, { text, ...options }] of requests.entries())
    for (const [name, draw] of Object.entries(FORMS)) {
      const what = `${name}: ${JSON.stringify({ text, ...options })}`;
      assert.ok(expected[index].equals(draw(text, options)), what);
    }
}

describe('the picture', () => {
  it('is a Uint8Array that shares no memory', () => {
    const first = generate('x');
    const before = Buffer.from(first);
    assert.equal(first.constructor, Uint8Array);
    assert.equal(first.buffer.byteLength, first.length);
    generate('x').fill(0);
    assert.ok(before.equals(first));
  });

  it("is qr-core's and decodes, for any Unicode text, NUL and emoji included", async () => {
    const random = seededRandom(20261121);
    const texts = ['\0', 'a\0b', '\0'.repeat(512), '\ufeff', '\ufffd', '\uffff', '👩‍🚀'];
    for (let i = 0; i < 300; i++) texts.push(randomText(random));
    assertSameAsCore(texts.map((text) => ({ text })));
    for (const text of texts) await assertDecodes(generate, text);
  });

  it("is qr-core's for every level, and for other sizes and margins", () => {
    const random = seededRandom(4);
    const requests = [{ text: '' }, { text: 'x', size: 16384 }, { text: 'x', size: 21, margin: 0 }];
    for (const level of LEVELS)
      for (let i = 0; i < 50; i++) {
        const text = randomText(random, 300);
        requests.push({ text, level, size: 200 + random(1000), margin: random(9) });
      }
    assertSameAsCore(requests);
  });

  it('has the documented defaults, also where options are undefined', () => {
    const spelt = Buffer.from(generate('x', { size: 200, margin: 4, level: 'L' }));
    for (const options of [undefined, {}, { size: undefined, margin: undefined, level: undefined }])
      assert.ok(spelt.equals(generate('x', options)));
  });
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
