import { createRequire } from 'node:module';
import QRCode from 'qrcode';
import { splitIntoSegments } from '../segments.js';

const { version } = createRequire(import.meta.url)('qrcode/package.json');

/**
 * Text to a 200 x 200 PNG, level L, by npm `qrcode`.
 * @param {string} name its name in `qr_build_info`, without the version
 * @param {object} rendererOpts options of pngjs, `qrcode`'s PNG writer
 */
export function npmQrcode(name, rendererOpts) {
  const generateQr = (text) =>
    QRCode.toBuffer(splitIntoSegments(text), {
      type: 'png',
      errorCorrectionLevel: 'L',
      width: 200,
      // A copy, because the renderer writes the picture's size into it.
      rendererOpts: { ...rendererOpts },
    });
  return { engine: `${name}-${version}`, generateQr };
}
