// Compiled, never run: checks which calls the modules' types accept and refuse.
// @ts-expect-error the smaller module has no draw
import { generate, draw as none } from '../../../../target/wasm/nodejs/qr_wasm.js';
import {
  draw,
  generate as generateOfDraw,
  type QrError,
  type QrErrorCode,
  type QrFault,
  type QrOptions,
  type QrOptionsOfService,
  type QrPicture,
} from '../../../../target/wasm/nodejs/qr_wasm_draw.js';
import init, { draw as drawInBrowser } from '../../../../target/wasm/web/qr_wasm_draw.js';

const options: QrOptions = { size: 300, margin: 2, level: 'H' };
const png: Uint8Array = generate('text', options);
const same: Uint8Array = generateOfDraw('text', options);
const all: QrOptionsOfService = { text: 'text', format: 'svg', dark: '#036', width_mm: null };
const { bytes, mediaType }: QrPicture = draw(all);
const picture: [Uint8Array, string] = [bytes, mediaType];
const faultsOf = (error: QrError): QrFault[] => error.faults;
const code: QrErrorCode = 'ERR_QR_TOO_LONG';
draw('text=hello');
const inBrowser: Promise<QrPicture> = init().then(() => drawInBrowser(all));
void [png, same, picture, faultsOf, code, inBrowser, none];

// @ts-expect-error there is no such option
draw({ text: 'text', colour: 'red' });
// @ts-expect-error there is no such format
draw({ text: 'text', format: 'bmp' });
// @ts-expect-error a size is a number
draw({ text: 'text', size: '200' });
// @ts-expect-error options are required
draw();
// @ts-expect-error a text is a string
generate(1);
// @ts-expect-error levels are L, M, Q and H
generate('text', { level: 'X' });
// @ts-expect-error undefined leaves an option out, null does not
generate('text', null);
