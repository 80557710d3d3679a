import { createRequire } from 'node:module';
import { NotBuiltError } from './not-built-error.js';

/** Calls the addon in this thread, which blocks the event loop for some microseconds. */
export function native(file) {
  const { generate } = requireAddon(file);
  return { engine: 'qr-node', generateQr: async (text) => generate(text) };
}

/** Calls the addon in a thread of libuv's pool. */
export function nativeAsync(file) {
  return { engine: 'qr-node-async', generateQr: requireAddon(file).generateAsync };
}

/** Calls the Wasm module through wasm-bindgen's glue, in this thread. */
export function wasm(file) {
  const { generate } = requireBuilt(file, 'wasm');
  return { engine: 'qr-wasm', generateQr: async (text) => toBuffer(generate(text)) };
}

const requireAddon = (file) => requireBuilt(file, 'node');

/** @param {string} binding the folder of its build.sh */
function requireBuilt(file, binding) {
  try {
    return createRequire(import.meta.url)(file);
  } catch (error) {
    throw new NotBuiltError(file, `qr-service/bindings/${binding}/build.sh`, error);
  }
}

/** A view of the same bytes, not a copy. */
function toBuffer({ buffer, byteOffset, byteLength }) {
  return Buffer.from(buffer, byteOffset, byteLength);
}
