/** A picture of {@link draw}. */
export interface QrPicture {
  bytes: Uint8Array;
  /** As `Content-Type` has it. */
  mediaType: string;
}

/** What {@link draw} throws: every fault of the options at once. Tell it from others by its `code`. */
export interface QrError extends Error {
  name: 'QrError';
  code: 'ERR_QR_FAULTS';
  faults: QrFault[];
}

/**
 * Draws with every option of the service's `/v1/qr`, as an object or as its query, on this thread: the
 * service's bytes. It does not decode pictures, so it has no logos and does not check that a camera can read
 * the colours and sizes that are asked for.
 *
 * @throws QrError, a TypeError as {@link generate}, a RangeError with the code `ERR_QR_TOO_LONG` for options
 *   of more than a million characters, or what `JSON.stringify` throws.
 */
export function draw(options: QrOptionsOfService | string): QrPicture;
