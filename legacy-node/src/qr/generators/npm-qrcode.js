import { createRequire } from 'node:module';
import QRCode from 'qrcode';
import { splitIntoSegments } from '../segments.js';

const { version } = createRequire(import.meta.url)('qrcode/package.json');

/** npm `qrcode` with the options that this app has always used. */
export function usual() {
  return npmQrcode('npm-qrcode', { deflateLevel: 9, deflateStrategy: 3 });
}

/**
 * npm `qrcode` with its best options, for a fair comparison: greyscale, no filter, zlib's default strategy. No level is
 * faster than 6, and lower levels make the pictures four times as large.
 */
export function tuned() {
  const options = { colorType: 0, filterType: 0, deflateLevel: 6, deflateStrategy: 0 };
  return npmQrcode('npm-qrcode-tuned', options);
}

/**
 * Text to a 200 x 200 PNG, level L.
 * @param {string} name its name in `qr_build_info`, without the version
 * @param {object} rendererOpts options of pngjs, `qrcode`'s PNG writer
 */
function npmQrcode(name, rendererOpts) {
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
