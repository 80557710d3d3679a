/// <reference types="node" />
import type { QrOptions } from './generate';
import type { QrFault, QrOptionsOfService } from './options';

export type { QrErrorCode, QrOptions } from './generate';
export type { QrFault, QrOptionsOfService } from './options';

/**
 * Draws the QR code of `text` as a PNG of one bit per pixel, on this thread, in microseconds.
 *
 * @throws an error whose `code` is a {@link QrErrorCode}, or the error of a getter of `options`.
 */
export function generate(text: string, options?: QrOptions): Buffer;

/**
 * Draws the same bytes on a thread of libuv's pool. Handing the work over takes longer than drawing a
 * usual picture, so use this for large pictures, or if the event loop must not wait at all.
 *
 * Never throws: it rejects with the errors of {@link generate}.
 */
export function generateAsync(text: string, options?: QrOptions): Promise<Buffer>;

/** A picture of {@link draw}. */
export interface QrPicture {
  bytes: Buffer;
  /** The media type, as in `Content-Type`. */
  mediaType: string;
}

/** The error that {@link draw} throws, with every fault of the options at once. */
export class QrError extends Error {
  name: 'QrError';
  code: 'ERR_QR_FAULTS';
  faults: QrFault[];
}

/**
 * Draws with every option of the service's `/v1/qr`, given as an object or as a query, on this thread. The picture has
 * the same bytes as the service's. This function does not decode pictures, so it has no logos and does not check that a
 * camera can read the colours and sizes.
 *
 * @throws QrError, a TypeError like {@link generate}, or the error that `JSON.stringify` throws.
 */
export function draw(options: QrDrawOptions | string): QrPicture;

/** Draws the same bytes on a thread of libuv's pool. Never throws: it rejects with the errors of {@link draw}. */
export function drawAsync(options: QrDrawOptions | string): Promise<QrPicture>;

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

/** The service's options, by their names or in camel case: `width_mm` or `widthMm`. */
export type QrDrawOptions = QrOptionsOfService & {
  [Name in keyof QrOptionsOfService as Camel<Name>]?: QrOptionsOfService[Name];
};

/** Options with the names of npm's qrcode, and any of {@link QrDrawOptions}. */
export interface QrcodeOptions extends Omit<QrDrawOptions, 'text' | 'data' | 'format'> {
  type?: 'png' | 'image/png' | 'svg' | 'utf8' | 'terminal' | 'txt' | 'pdf' | 'eps';
  errorCorrectionLevel?: 'L' | 'M' | 'Q' | 'H' | 'low' | 'medium' | 'quartile' | 'high';
  version?: number;
  maskPattern?: number;
  /** Width in pixels; without it the modules of a PNG have 4 pixels a side. */
  width?: number;
  color?: { dark?: string; light?: string };
}

/** Like npm's qrcode, for a text or for bytes. The default is a PNG. Rejects with the errors of {@link draw}. */
export function toBuffer(text: string | Uint8Array, options?: QrcodeOptions): Promise<Buffer>;
export function toDataURL(text: string | Uint8Array, options?: QrcodeOptions): Promise<string>;
/** The default is characters for a terminal; with `type: 'svg'` it is an SVG. */
export function toString(text: string | Uint8Array, options?: QrcodeOptions): Promise<string>;
/** Writes a file in the format of its extension: .png, .svg, .pdf, .eps or .txt. */
export function toFile(path: string, text: string | Uint8Array, options?: QrcodeOptions): Promise<void>;
