/**
 * Splits a text into QR segments (numeric, alphanumeric, byte) that take the fewest bits.
 *
 * The contract requires the smallest version. npm `qrcode` splits by a heuristic that sometimes takes
 * a larger one, so this module splits by dynamic programming over characters and modes, and `qrcode`
 * gets the finished segments.
 * Bit counts: ISO/IEC 18004, section 7.4 and table 3.
 */

const MODES = ['numeric', 'alphanumeric', 'byte'];
const NUMERIC = 0;
const ALPHANUMERIC = 1;

/** Mode indicator plus character count indicator, in bits, by range of versions. */
const VERSION_RANGES = [
  { lastVersionBits: 1856, headerBits: [14, 13, 12] }, // versions 1-9; 9-L holds 232 codewords
  { lastVersionBits: 10960, headerBits: [16, 15, 20] }, // versions 10-26
];

/**
 * Costs are in sixths of a bit, so that a digit (10/3 bits) and an alphanumeric character
 * (11/2 bits) are whole numbers; a segment's end rounds up to whole bits.
 */
const SIXTHS = 6;
const DIGIT_COST = 20;
const ALPHANUMERIC_COST = 33;
const BYTE_COST = 48;
const IMPOSSIBLE = 1e9;

/**
 * @param {string} text well-formed, not empty, at most 512 bytes of UTF-8
 * @returns {{data: string, mode: string}[]} segments in the form that npm `qrcode` takes
 */
export function splitIntoSegments(text) {
  let plan;
  for (const { lastVersionBits, headerBits } of VERSION_RANGES) {
    plan = cheapestModes(text, headerBits);
    if (plan.bits <= lastVersionBits) break;
  }
  return joinRuns(text, plan.modes);
}

/** The mode of each UTF-16 unit in the cheapest split, and the bits of that split. */
function cheapestModes(text, headerBits) {
  const headers = headerBits.map((bits) => bits * SIXTHS);
  const cameFrom = new Uint8Array(text.length * MODES.length);
  let costs = [...headers];
  for (let i = 0; i < text.length; i++) {
    const unitCosts = costsOfUnit(text.charCodeAt(i));
    const written = costs.map((cost, mode) => Math.min(cost + unitCosts[mode], IMPOSSIBLE));
    // After this unit, either stay in its mode or begin a segment in another mode.
    costs = MODES.map((_, mode) => {
      let best = mode;
      let bestCost = written[mode];
      for (let previous = 0; previous < MODES.length; previous++) {
        const cost = roundUpToBits(written[previous]) + headers[mode];
        if (previous !== mode && cost < bestCost) {
          best = previous;
          bestCost = cost;
        }
      }
      cameFrom[i * MODES.length + mode] = best;
      return bestCost;
    });
    if (i === text.length - 1) return traceBack(written, cameFrom, text.length);
  }
  throw new RangeError('text must not be empty');
}

function traceBack(finalCosts, cameFrom, length) {
  const totals = finalCosts.map(roundUpToBits);
  let mode = totals.indexOf(Math.min(...totals));
  const bits = totals[mode] / SIXTHS;
  const modes = new Uint8Array(length);
  for (let i = length - 1; i >= 0; i--) {
    modes[i] = mode;
    if (i > 0) mode = cameFrom[(i - 1) * MODES.length + mode];
  }
  return { modes, bits };
}

const UNIT_COSTS = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  const costs = [IMPOSSIBLE, IMPOSSIBLE, BYTE_COST];
  if (/[0-9]/.test(character)) costs[NUMERIC] = DIGIT_COST;
  if (/[0-9A-Z $%*+\-./:]/.test(character)) costs[ALPHANUMERIC] = ALPHANUMERIC_COST;
  return costs;
});

/** A surrogate is half of a 4-byte character, so it counts as 2 bytes. */
function costsOfUnit(code) {
  if (code < 0x80) return UNIT_COSTS[code];
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  const utf8Bytes = code < 0x800 || isSurrogate ? 2 : 3;
  return [IMPOSSIBLE, IMPOSSIBLE, BYTE_COST * utf8Bytes];
}

function roundUpToBits(cost) {
  return Math.ceil(cost / SIXTHS) * SIXTHS;
}

function joinRuns(text, modes) {
  const segments = [];
  let start = 0;
  for (let i = 1; i <= text.length; i++) {
    if (i < text.length && modes[i] === modes[start]) continue;
    segments.push({ data: text.slice(start, i), mode: MODES[modes[start]] });
    start = i;
  }
  return segments;
}
