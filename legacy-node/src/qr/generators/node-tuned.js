import { npmQrcode } from './npm-qrcode.js';

/**
 * npm `qrcode` with its best options, for a fair comparison: greyscale, no filter, zlib's default strategy. No level is
 * faster than 6, and lower levels make the pictures four times as large.
 */
export function load() {
  return npmQrcode('npm-qrcode-tuned', {
    colorType: 0,
    filterType: 0,
    deflateLevel: 6,
    deflateStrategy: 0,
  });
}
