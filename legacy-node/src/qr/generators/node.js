import { npmQrcode } from './npm-qrcode.js';

/** npm `qrcode` with the options that this app has always used. */
export function load() {
  return npmQrcode('npm-qrcode', { deflateLevel: 9, deflateStrategy: 3 });
}
