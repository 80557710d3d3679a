/** Loads the modules that `../build.sh` makes. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// A module that is not optimised has more frames than the ten that a stack shows.
Error.stackTraceLimit = 50;

const require = createRequire(import.meta.url);

/** The folder that the modules are built in. */
export const built = fileURLToPath(new URL('../../../../../target/wasm/', import.meta.url));

/** wasm-bindgen's `generate(text, options)`. */
export const { generate } = require(`${built}nodejs/qr_wasm.js`);

/** `draw(options)`, and `generate` of the same module. */
export const { draw, generate: generateOfDraw } = require(`${built}nodejs/qr_wasm_draw.js`);

export const LEVELS = 'LMQH';

export const rawModule = new WebAssembly.Module(readFileSync(`${built}qr_raw.wasm`));

/** Returns the exports of a new instance of the raw module. */
export function instantiateRaw() {
  return new WebAssembly.Instance(rawModule).exports;
}

/** Copies bytes into the module's memory while `use` runs; returns the result of `use`. */
export function withBytes(raw, bytes, use) {
  // At least one byte: `alloc(0)` returns null.
  const length = Math.max(bytes.length, 1);
  const at = raw.alloc(length);
  if (at === 0) throw new Error(`no memory for ${length} bytes`);
  try {
    new Uint8Array(raw.memory.buffer).set(bytes, at);
    return use(at);
  } finally {
    raw.dealloc(at, length);
  }
}

/**
 * Draws with the raw module, into a buffer of `space` bytes, by default `max_png_bytes(size)`.
 * @returns {Buffer | number} the PNG, or the number of the failure
 */
export function callRaw(raw, text, { size = 200, margin = 4, level = 'L', space } = {}) {
  const bytes = Buffer.from(text);
  const outLength = space ?? raw.max_png_bytes(size);
  return withBytes(raw, bytes, (textAt) =>
    withBytes(raw, Buffer.alloc(outLength), (outAt) => {
      const levelNumber = typeof level === 'number' ? level : LEVELS.indexOf(level);
      const length = raw.generate(
        textAt,
        bytes.length,
        size,
        margin,
        levelNumber,
        outAt,
        outLength,
      );
      return length < 0
        ? length
        : Buffer.copyBytesFrom(new Uint8Array(raw.memory.buffer), outAt, length);
    }),
  );
}
