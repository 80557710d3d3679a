import { ApiError } from '../http/errors.js';

const MAX_URL_BYTES = 2048;

/**
 * Checks the link that a client wants shortened.
 * @param {unknown} input `url` of the request body
 * @returns {string} the URL in its normal form: ASCII only, so that it is safe in a Location header
 * @throws {ApiError} 400, with a code for programs and a message for people
 */
export function parseTargetUrl(input) {
  if (typeof input !== 'string' || input.trim() === '') {
    throw new ApiError(400, 'url_missing', 'url must be a non-empty string');
  }
  // The normal form can be longer than the input (é becomes %C3%A9). Both must keep the limit,
  // because proxies reserve only a few kilobytes for response headers.
  const tooLong = () =>
    new ApiError(
      400,
      'url_too_long',
      `url must be at most ${MAX_URL_BYTES} bytes, percent-encoded`,
    );
  if (Buffer.byteLength(input) > MAX_URL_BYTES) throw tooLong();
  if (!URL.canParse(input)) throw new ApiError(400, 'url_invalid', 'url must be an absolute URL');
  const url = new URL(input);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ApiError(400, 'url_scheme', 'url must start with http:// or https://');
  }
  if (url.href.length > MAX_URL_BYTES) throw tooLong();
  return url.href;
}
