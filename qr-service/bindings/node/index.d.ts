/// <reference types="node" />
import type { QrFault, QrOptionsOfService } from './options';

export type { QrFault, QrOptionsOfService } from './options';

/** How the picture looks. */
export interface QrOptions {
  /** Width and height in pixels, 1 to 16384; default 200. Spare pixels widen the margin. */
  size?: number;
  /** Least width of the quiet zone in modules, 0 to 8181; default 4, as the standard asks. */
  margin?: number;
  /** Error correction level, which restores about 7, 15, 25 or 30 %; default `'L'`. */
  level?: 'L' | 'M' | 'Q' | 'H';
}

/** The `code` of the errors below. */
export type QrErrorCode =
  /** TypeError: an argument has the wrong type. */
  | 'ERR_INVALID_ARG_TYPE'
  /** TypeError: no level has this name. */
  | 'ERR_INVALID_ARG_VALUE'
  /** RangeError: size or margin is not a whole number in its range. */
  | 'ERR_OUT_OF_RANGE'
  /** TypeError: the text has a lone surrogate, which UTF-8 cannot represent. */
  | 'ERR_QR_LONE_SURROGATE'
  /** RangeError: no QR code holds the text at this level. */
  | 'ERR_QR_TOO_LONG'
  /** RangeError: modules would be smaller than a pixel; the message gives the least size. */
  | 'ERR_QR_TOO_SMALL'
  /** Error: the library panicked, which is a bug. */
  | 'ERR_QR_INTERNAL';

/**
 * Draws `text`'s QR code as a PNG of one bit a pixel, on this thread, in microseconds.
 *
 * @throws an error whose `code` is a {@link QrErrorCode}, or the error of a getter of `options`.
 */
export function generate(text: string, options?: QrOptions): Buffer;

/**
 * Makes the same bytes on a thread of libuv's pool. The way there and back takes longer than a
 * usual picture, so use it for large pictures, or if the event loop must not wait at all.
 *
 * Never throws: it rejects with the errors of {@link generate}.
 */
export function generateAsync(text: string, options?: QrOptions): Promise<Buffer>;

/** A picture of {@link draw}. */
export interface QrPicture {
  bytes: Buffer;
  /** As `Content-Type` has it. */
  mediaType: string;
}

/** What {@link draw} throws: every fault of the options at once. */
export class QrError extends Error {
  name: 'QrError';
  code: 'ERR_QR_FAULTS';
  faults: QrFault[];
}

/**
 * Draws with every option of the service's `/v1/qr`, as an object or as its query, on this thread: the
 * service's bytes. It does not decode pictures, so it has no logos and does not check that a camera can read
 * the colours and sizes that are asked for.
 *
 * @throws QrError, a TypeError as {@link generate}, or what `JSON.stringify` throws.
 */
export function draw(options: QrDrawOptions | string): QrPicture;

/** Makes the same bytes on a thread of libuv's pool. Never throws: it rejects with the errors of {@link draw}. */
export function drawAsync(options: QrDrawOptions | string): Promise<QrPicture>;

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

/** The service's options, by its names or in camel case: `width_mm` or `widthMm`. */
export type QrDrawOptions = QrOptionsOfService & {
  [Name in keyof QrOptionsOfService as Camel<Name>]?: QrOptionsOfService[Name];
};

/** Options as npm's qrcode has them, and any of {@link QrDrawOptions}. */
export interface QrcodeOptions extends Omit<QrDrawOptions, 'text' | 'data' | 'format'> {
  type?: 'png' | 'image/png' | 'svg' | 'utf8' | 'terminal' | 'txt' | 'pdf' | 'eps';
  errorCorrectionLevel?: 'L' | 'M' | 'Q' | 'H' | 'low' | 'medium' | 'quartile' | 'high';
  version?: number;
  maskPattern?: number;
  /** Width in pixels; without it a module of a PNG has 4. */
  width?: number;
  color?: { dark?: string; light?: string };
}

/** As npm's qrcode, of a text or of bytes: a PNG by default. They reject with the errors of {@link draw}. */
export function toBuffer(text: string | Uint8Array, options?: QrcodeOptions): Promise<Buffer>;
export function toDataURL(text: string | Uint8Array, options?: QrcodeOptions): Promise<string>;
/** By default characters, as for a terminal; with `type: 'svg'` an SVG. */
export function toString(text: string | Uint8Array, options?: QrcodeOptions): Promise<string>;
/** In the format of the extension: .png, .svg, .pdf, .eps or .txt. */
export function toFile(path: string, text: string | Uint8Array, options?: QrcodeOptions): Promise<void>;
