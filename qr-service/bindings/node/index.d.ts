/// <reference types="node" />
import type { QrFault, QrOptionsOfService } from './options';

export type { QrFault, QrOptionsOfService } from './options';

/** The options of a picture. */
export interface QrOptions {
  /** Width and height in pixels, 1 to 16384; default 200. Spare pixels widen the margin. */
  size?: number;
  /** Least width of the quiet zone in modules, 0 to 8181; default 4, as the standard requires. */
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
  /** RangeError: modules would be smaller than a pixel; the message gives the smallest size that works. */
  | 'ERR_QR_TOO_SMALL'
  /** Error: the library panicked, which is a bug. */
  | 'ERR_QR_INTERNAL';

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
