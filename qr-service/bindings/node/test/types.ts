// Compiled, never run: checks which calls index.d.ts accepts and refuses.
import { generate, generateAsync, type QrErrorCode, type QrOptions } from '../index.js';

const options: QrOptions = { size: 300, margin: 2, level: 'H' };
const png: Buffer = generate('text');
const other: Promise<Buffer> = generateAsync('text', options);
const code: QrErrorCode = 'ERR_QR_TOO_LONG';
generate('text', {});
void [png, other, code];

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
