// Compiled, never run: checks which calls index.d.ts accepts and refuses.
import {
  draw,
  drawAsync,
  generate,
  generateAsync,
  QrError,
  type QrErrorCode,
  type QrFault,
  type QrOptions,
  toBuffer,
  toDataURL,
  toFile,
  toString,
} from '../index.js';

const options: QrOptions = { size: 300, margin: 2, level: 'H' };
const png: Buffer = generate('text');
const other: Promise<Buffer> = generateAsync('text', options);
const code: QrErrorCode = 'ERR_QR_TOO_LONG';
generate('text', {});
const { bytes, mediaType } = draw({ text: 'text', format: 'svg', dark: '#036', width_mm: null });
const picture: [Buffer, string] = [bytes, mediaType];
const faults: QrFault[] = new QrError().faults;
draw('text=hello');
draw({ text: 'text', format: 'pdf', widthMm: 25 });
const url: Promise<string> = toDataURL('text', { errorCorrectionLevel: 'H', color: { dark: '#036' } });
const svg: Promise<string> = toString('text', { type: 'svg', width: 200 });
const made: Promise<void> = toFile('a.png', Uint8Array.of(1), { scale: 4 });
const later: Promise<Buffer> = drawAsync({ text: 'text' }).then((drawn) => drawn.bytes);
void [url, svg, made, later, toBuffer('text')];
void [png, other, code, picture, faults];


// @ts-expect-error there is no such option
draw({ text: 'text', colour: 'red' });
// @ts-expect-error there is no such format
draw({ text: 'text', format: 'bmp' });
// @ts-expect-error a text is a string
generate(1);
// @ts-expect-error a text is required
generate();
// @ts-expect-error a size is a number
generate('text', { size: '200' });
// @ts-expect-error levels are L, M, Q and H
generateAsync('text', { level: 'X' });
// @ts-expect-error there is no such option
generate('text', { width: 200 });
// @ts-expect-error undefined leaves an option out, null does not
generate('text', null);
