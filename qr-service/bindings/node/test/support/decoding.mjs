import assert from 'node:assert/strict';
import { decodeQr, pngSize } from '../../../../../legacy-node/test/support/decoder.js';

/** Checks that `generate` draws a picture of this size that decodes to `text`. */
export async function assertDecodes(generate, text, level = 'L', size = 200) {
  const png = generate(text, { level, size });
  assert.deepEqual(pngSize(png), { width: size, height: size });
  const decoded = await decodeQr(png);
  assert.ok(decoded, `not readable: ${JSON.stringify(text)}`);
  assert.deepEqual(decoded.bytes, Buffer.from(text), JSON.stringify(text));
  assert.equal(decoded.level, level);
}
