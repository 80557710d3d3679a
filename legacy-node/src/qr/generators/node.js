import { npmQrcode } from './npm-qrcode.js';

/** With the options this app has always used. */
export function load() {
  return npmQrcode('npm-qrcode', { deflateLevel: 9, deflateStrategy: 3 });
}
