/**
 * Reads `text` from a request target as the contract requires. Express' query parser is too lenient:
 * it replaces invalid UTF-8, accepts broken escapes and builds arrays and objects.
 */

export const MAX_TEXT_BYTES = 512;

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
  const text = decode(values[0]);
  if (text === undefined) return { error: 'text must be valid UTF-8' };
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES)
    return { error: `text must be <= ${MAX_TEXT_BYTES} bytes` };
  return { text };
}

/** The raw values of every parameter whose name decodes to `text`. */
function textValues(target) {
  const query = /^[^?#]*\?([^#]*)/.exec(target)?.[1] ?? '';
  const values = [];
  for (const pair of query.split('&')) {
    const [name, value = ''] = pair.split(/=(.*)/s);
    if (decode(name) === 'text') values.push(value);
  }
  return values;
}

/** The text of a form-encoded value; undefined if an escape is broken, or the bytes are not UTF-8. */
function decode(raw) {
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
