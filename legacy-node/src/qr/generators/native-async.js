import { requireAddon } from './native.js';

/** Calls the addon in a thread of libuv's pool. */
export function load(file) {
  const { generateAsync } = requireAddon(file);
  return { engine: 'qr-node-async', generateQr: generateAsync };
}
