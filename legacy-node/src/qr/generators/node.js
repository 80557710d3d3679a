import { createRequire } from 'node:module';
import QRCode from 'qrcode';
import { splitIntoSegments } from '../segments.js';

const { version } = createRequire(import.meta.url)('qrcode/package.json');

/** The generator's name, as it stands in `qr_build_info`. */
export const engine = `npm-qrcode-${version}`;

/**
 * Text to a 200 x 200 PNG, level L, by npm `qrcode` with the options this app has always used.
 * @param {string} text well-formed, 1 to 512 bytes of UTF-8
 * @returns {Promise<Buffer>}
 */
export function generateQr(text) {
  return QRCode.toBuffer(splitIntoSegments(text), {
    type: 'png',
    errorCorrectionLevel: 'L',
    width: 200,
    // A fresh object each time: the renderer writes the picture's size into it.
    rendererOpts: { deflateLevel: 9, deflateStrategy: 3 },
  });
}
