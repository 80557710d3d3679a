import { createRequire } from 'node:module';
import { NotBuiltError } from './not-built-error.js';

/** Calls the Wasm module through wasm-bindgen's glue, in this thread. */
export function load(file) {
  const { generate } = requireModule(file);
  return { engine: 'qr-wasm', generateQr: async (text) => toBuffer(generate(text)) };
}

function requireModule(file) {
  try {
    return createRequire(import.meta.url)(file);
  } catch (error) {
    throw new NotBuiltError(file, 'qr-service/bindings/wasm/build.sh', error);
  }
}

/** A view of the same bytes, not a copy. */
function toBuffer({ buffer, byteOffset, byteLength }) {
  return Buffer.from(buffer, byteOffset, byteLength);
}
