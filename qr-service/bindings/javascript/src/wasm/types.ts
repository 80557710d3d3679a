/**
 * Draws the QR code of `text` as a PNG of one bit per pixel, on this thread, in microseconds.
 *
 * @throws an error whose `code` is a {@link QrErrorCode}, or the error of a getter of `options`.
 */
export function generate(text: string, options?: QrOptions): Uint8Array;
