import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadGenerator } from '../src/qr/generators/index.js';
import { splitIntoSegments } from '../src/qr/segments.js';
import { decodeQr, pngSize } from './support/decoder.js';
import { randomText, seededRandom } from './support/texts.js';

/**
 * Characters that versions 1 to 15 hold at level L in one mode (ISO/IEC 18004, table 7); texts are
 * limited to 512 bytes, so versions above 15 are never reached.
 */
const CAPACITIES = {
  numeric: ['7', [41, 77, 127, 187, 255, 322, 370, 461]],
  alphanumeric: ['K', [25, 47, 77, 114, 154, 195, 224, 279, 335, 395, 468]],
  byte: ['k', [17, 32, 53, 78, 106, 134, 154, 192, 230, 271, 321, 367, 425, 458]],
};

/** Every generator must pass; for example, `QR_IMPL=cli npm test`. */
const { generateQr } = await loadGenerator(process.env.QR_IMPL ?? 'node');

const PROPERTY_CASES = Number(process.env.PROPERTY_CASES ?? 300);

async function assertDecodes(text, version) {
  const png = await generateQr(text);
  assert.deepEqual(pngSize(png), { width: 200, height: 200 });
  const decoded = await decodeQr(png);
  assert.ok(decoded, `not readable: ${JSON.stringify(text)}`);
  assert.deepEqual(decoded.bytes, Buffer.from(text), JSON.stringify(text));
  assert.equal(decoded.level, 'L');
  if (version) assert.equal(decoded.version, version, `version of ${JSON.stringify(text)}`);
}

describe('the QR code', () => {
  for (const [mode, [character, capacities]] of Object.entries(CAPACITIES)) {
    it(`takes the smallest version at both sides of every ${mode} boundary`, async () => {
      for (const [index, capacity] of capacities.entries()) {
        await assertDecodes(character.repeat(capacity), index + 1);
        await assertDecodes(character.repeat(capacity + 1), index + 2);
      }
    });
  }

  it('holds 512 bytes of every width of UTF-8', async () => {
    for (const character of ['k', 'é', '界', '😀']) {
      const times = Math.floor(512 / Buffer.byteLength(character));
      await assertDecodes(character.repeat(times), 15);
    }
  });

  it('switches modes where that saves a version', async () => {
    // 40 digits in bytes would need version 3; a byte and a numeric segment fit into 2.
    await assertDecodes(`k${'7'.repeat(40)}`, 2);
    // npm qrcode's own split takes version 2 here.
    await assertDecodes('1234567890112341AB121éé', 1);
  });

  it('reads back any Unicode text', async () => {
    const random = seededRandom(20261121);
    for (let i = 0; i < PROPERTY_CASES; i++) await assertDecodes(randomText(random));
  });
});

describe('segments', () => {
  it('join up to the text again and never cut a character', () => {
    const random = seededRandom(7);
    for (let i = 0; i < 500; i++) {
      const text = randomText(random);
      const segments = splitIntoSegments(text);
      assert.equal(segments.map(({ data }) => data).join(''), text);
      assert.ok(segments.every(({ data }) => data.isWellFormed()));
    }
  });

  it('take as few bits as trying every split does', () => {
    const random = seededRandom(11);
    const alphabet = 'aé1A2-3';
    for (let i = 0; i < 300; i++) {
      const length = 1 + random(9);
      const text = Array.from({ length }, () => alphabet[random(alphabet.length)]).join('');
      const bits = splitIntoSegments(text).reduce(
        (sum, { data, mode }) => sum + segmentBits(data, mode),
        0,
      );
      assert.equal(bits, fewestBits(text), JSON.stringify(text));
    }
  });
});

/** Bits of a segment at versions 1 to 9, headers included; Infinity where the mode can't hold it. */
function segmentBits(data, mode) {
  const { length } = data;
  if (mode === 'byte') return 12 + 8 * Buffer.byteLength(data);
  if (mode === 'alphanumeric') {
    return /^[0-9A-Z $%*+\-./:]*$/.test(data)
      ? 13 + 11 * (length >> 1) + 6 * (length & 1)
      : Infinity;
  }
  return /^\d*$/.test(data) ? 14 + 10 * Math.floor(length / 3) + [0, 4, 7][length % 3] : Infinity;
}

function fewestBits(text) {
  if (text === '') return 0;
  let best = Infinity;
  for (let end = 1; end <= text.length; end++) {
    const head = text.slice(0, end);
    const cheapest = Math.min(...Object.keys(CAPACITIES).map((mode) => segmentBits(head, mode)));
    if (cheapest < best) best = Math.min(best, cheapest + fewestBits(text.slice(end)));
  }
  return best;
}
