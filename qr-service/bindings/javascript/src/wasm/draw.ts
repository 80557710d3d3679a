/** A picture of {@link draw}. */
export interface QrPicture {
  bytes: Uint8Array;
  /** The media type, as in `Content-Type`. */
  mediaType: string;
}

/** The error that {@link draw} throws, with every fault of the options at once. Recognise it by its `code`. */
export interface QrError extends Error {
  name: 'QrError';
  code: 'ERR_QR_FAULTS';
  faults: QrFault[];
}

/**
 * Draws with every option of the service's `/v1/qr`, given as an object or as a query, on this thread. The picture has
 * the same bytes as the service's. This function does not decode pictures, so it has no logos and does not check that a
 * camera can read the colours and sizes.
 *
 * @throws QrError, a TypeError like {@link generate}, a RangeError with the code `ERR_QR_TOO_LONG` for options
 *   of more than a million characters, or what `JSON.stringify` throws.
 */
export function draw(options: QrOptionsOfService | string): QrPicture;
