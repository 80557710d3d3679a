/** The options of a picture. */
export interface QrOptions {
  /** Width and height in pixels, 1 to 16384; default 200. Spare pixels widen the margin. */
  size?: number;
  /** Least width of the quiet zone in modules, 0 to 8181; default 4, as the standard requires. */
  margin?: number;
  /** Error correction level, which restores about 7, 15, 25 or 30 %; default `'L'`. */
  level?: 'L' | 'M' | 'Q' | 'H';
}

/** The `code` of the errors of `generate`. */
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
  /** Error, of the addon only: the library panicked, which is a bug. */
  | 'ERR_QR_INTERNAL';
