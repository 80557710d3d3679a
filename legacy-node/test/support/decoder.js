/** Reads QR codes with zxing-cpp as WebAssembly: an independent decoder shares no mistakes with the encoders. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';

const { resolve } = createRequire(import.meta.url);
// From the package on disk; by default the library fetches it from a CDN.
const wasmBinary = readFileSync(resolve('zxing-wasm/reader/zxing_reader.wasm'));
prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(wasmBinary).buffer } });

/**
 * @param {Uint8Array} png
 * @returns {Promise<{bytes: Buffer, version: number, level: string} | undefined>} the symbol in
 *   the picture, or undefined if none can be read
 */
export async function decodeQr(png) {
  const [found] = await readBarcodes(new Uint8Array(png), {
    formats: ['QRCode'],
    tryHarder: true,
    maxNumberOfSymbols: 1,
  });
  if (!found?.isValid) return undefined;
  return { bytes: Buffer.from(found.bytes), version: Number(found.version), level: found.ecLevel };
}

/** Width and height in the header of a PNG (RFC 2083, section 4.1.1). */
export function pngSize(png) {
  const header = Buffer.from(png);
  return { width: header.readUInt32BE(16), height: header.readUInt32BE(20) };
}
