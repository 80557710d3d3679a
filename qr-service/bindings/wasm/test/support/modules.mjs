/** The modules as `../build.sh` makes them. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

/** Where the modules are built. */
export const built = fileURLToPath(new URL('../../../../../target/wasm/', import.meta.url));

/** What needs legacy-node's packages is resolved there. */
export const requireFromLegacy = createRequire(
  new URL('../../../../../legacy-node/package.json', import.meta.url),
);

/** By wasm-bindgen: `generate(text, options)`. */
export const { generate } = require(`${built}nodejs/qr_wasm.js`);

export const LEVELS = 'LMQH';

export const rawModule = new WebAssembly.Module(readFileSync(`${built}qr_raw.wasm`));

/** A fresh instance of the plain module: its exports. */
export function instantiateRaw() {
  return new WebAssembly.Instance(rawModule).exports;
}

/** Bytes in the module's memory for as long as `use` runs; what `use` gives. */
export function withBytes(raw, bytes, use) {
  // One byte at least: no address is that of nothing.
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
 * A picture by the plain module, in a buffer of `space` bytes or as many as are always enough.
 * @returns {Buffer | number} the PNG, or the failure
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
