/**
 * Reads `text` from a request target as the contract requires. Express' query parser is too lenient:
 * it replaces invalid UTF-8, accepts broken escapes and builds arrays and objects.
 */

export const MAX_TEXT_BYTES = 512;
// ignoreBOM keeps a leading byte order mark, which is part of the text.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * @param {string} target request target as received, such as `/qrcode?text=a%20b`; ASCII, because
 *   Node's parser answers 400 to raw bytes above 0x7F
 * @returns {{text: string} | {error: string}} the decoded text, or the contract's error body: the
 *   first that applies, in the order of the contract's table
 */
export function readText(target) {
  const values = textValues(target);
  if (!values.some((value) => value !== '')) return { error: 'missing "text" query param' };
  if (values.length > 1) return { error: 'text must be given once' };
  const bytes = percentDecode(values[0]);
  const text = bytes && decodeUtf8(bytes);
  if (text === undefined) return { error: 'text must be valid UTF-8' };
  if (bytes.length > MAX_TEXT_BYTES) return { error: `text must be <= ${MAX_TEXT_BYTES} bytes` };
  return { text };
}

/** The raw values of every parameter whose name decodes to `text`. */
function textValues(target) {
  const query = /^[^?#]*\?([^#]*)/.exec(target)?.[1] ?? '';
  const values = [];
  for (const pair of query.split('&')) {
    const split = pair.indexOf('=');
    const name = split < 0 ? pair : pair.slice(0, split);
    if (isTextName(name)) values.push(split < 0 ? '' : pair.slice(split + 1));
  }
  return values;
}

function isTextName(rawName) {
  const bytes = percentDecode(rawName);
  return bytes?.toString('latin1') === 'text';
}

/** Bytes of a form-encoded value, or undefined where an escape is broken. */
function percentDecode(raw) {
  if (/%(?![0-9A-Fa-f]{2})/.test(raw)) return undefined;
  const decoded = raw
    .replaceAll('+', ' ')
    .replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(decoded, 'latin1');
}

function decodeUtf8(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
