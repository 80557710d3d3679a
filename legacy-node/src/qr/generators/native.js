import { createRequire } from 'node:module';
import { NotBuiltError } from './not-built-error.js';

/** Calls the addon in this thread, which blocks the event loop for some microseconds. */
export function load(file) {
  const { generate } = requireAddon(file);
  return { engine: 'qr-node', generateQr: async (text) => generate(text) };
}

/** @param {string} file the addon's index.js */
export function requireAddon(file) {
  try {
    return createRequire(import.meta.url)(file);
  } catch (error) {
    throw new NotBuiltError(file, 'qr-service/bindings/node/build.sh', error);
  }
}
