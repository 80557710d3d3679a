/** How the picture looks. */
export interface QrOptions {
  /** Pixels a side, 1 to 16384; 200 where not given. Spare pixels widen the margin. */
  size?: number;
  /** Least width of the quiet zone in modules, 0 to 8181; 4, as the standard asks, where not given. */
  margin?: number;
  /** Error correction level: about 7, 15, 25 or 30 % can be restored; `'L'` where not given. */
  level?: 'L' | 'M' | 'Q' | 'H';
}

/** The `code` of the errors below. */
export type QrErrorCode =
  /** TypeError: an argument is of a wrong type. */
  | 'ERR_INVALID_ARG_TYPE'
  /** TypeError: the level has another name. */
  | 'ERR_INVALID_ARG_VALUE'
  /** RangeError: size or margin is not a whole number in its range. */
  | 'ERR_OUT_OF_RANGE'
  /** TypeError: the text has a lone surrogate, so it is not Unicode. */
  | 'ERR_QR_LONE_SURROGATE'
  /** RangeError: no QR code holds the text at this level. */
  | 'ERR_QR_TOO_LONG'
  /** RangeError: modules would be smaller than a pixel; the message says which size would do. */
  | 'ERR_QR_TOO_SMALL';

/**
 * The PNG of `text`'s QR code, one bit a pixel, made on this thread in some microseconds.
 *
 * @throws an error whose `code` is a {@link QrErrorCode}; what a getter of `options` throws passes.
 */
export function generate(text: string, options?: QrOptions): Uint8Array;
