import assert from 'node:assert/strict';
import { it } from 'node:test';
import { randomText, seededRandom } from '../../../../../legacy-node/test/support/texts.js';
import { drawByCore } from './core.mjs';
import { assertDecodes } from './decoding.mjs';

/** Tests that `generate` and functions like it (`forms`) draw qr-core's bytes. */
export function itDrawsAsCore(generate, forms) {
  async function assertSameAsCore(requests) {
    const expected = drawByCore(requests);
    assert.equal(expected.length, requests.length);
    for (const [index, { text, ...options }] of requests.entries())
      for (const [name, draw] of Object.entries({ generate, ...forms })) {
        const what = `${name}: ${JSON.stringify({ text, ...options })}`;
        assert.ok(expected[index].equals(await draw(text, options)), what);
      }
  }

  it("is qr-core's and decodes, for any Unicode text, NUL and emoji included", async () => {
    const random = seededRandom(20261121);
    const texts = ['\0', 'a\0b', '\0'.repeat(512), '\ufeff', '\ufffd', '\uffff', '👩‍🚀'];
    for (let i = 0; i < 300; i++) texts.push(randomText(random));
    await assertSameAsCore(texts.map((text) => ({ text })));
    for (const text of texts) await assertDecodes(generate, text);
  });

  it("is qr-core's for every level, and for other sizes and margins", async () => {
    const random = seededRandom(4);
    const requests = [{ text: '' }, { text: 'x', size: 16384 }, { text: 'x', size: 21, margin: 0 }];
    requests.push({ text: 'x', size: 29 });
    for (const level of 'LMQH') {
      for (let i = 0; i < 50; i++) {
        const text = randomText(random, 300);
        requests.push({ text, level, size: 200 + random(1000), margin: random(9) });
      }
    }
    await assertSameAsCore(requests);
  });

  it('has the documented defaults, also where options are undefined', () => {
    const spelt = Buffer.from(generate('x', { size: 200, margin: 4, level: 'L' }));
    for (const options of [undefined, {}, { size: undefined, margin: undefined, level: undefined }])
      assert.ok(spelt.equals(generate('x', options)));
  });

  it('shares no memory with another picture', () => {
    const first = generate('x');
    const before = Buffer.from(first);
    generate('x').fill(0);
    assert.ok(before.equals(first));
    assert.equal(first.buffer.byteLength, first.length);
  });
}
