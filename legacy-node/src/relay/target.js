/** Reads the request target of the relay: the key, and the number of receivers. */

import { createHash } from 'node:crypto';

/** Longest key, in bytes. */
export const MAX_KEY_BYTES = 1024;
const MAX_RECEIVERS = 250;
const PREFIX = '/p/';

/**
 * @param {string} url request target: a path with a query, or an absolute URL
 * @returns {{key: string | undefined, n: number | undefined}} the key is the path without dot
 *   segments, its percent-encoding kept; undefined outside `/p/`. `n` is undefined if it is invalid.
 */
export function readTarget(url) {
  const [, path, query = ''] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url);
  const key = removeDotSegments(path);
  const isKey = key.startsWith(PREFIX) && key.length > PREFIX.length;
  return { key: isKey ? key : undefined, n: readCount(query) };
}

/** RFC 3986, section 5.2.4. `%2e` counts as a dot, and several leading slashes as one. */
function removeDotSegments(path) {
  const kept = [];
  const segments = path.replace(/^\/+/, '').split('/');
  for (const [index, segment] of segments.entries()) {
    const plain = segment.replace(/%2e/gi, '.');
    const isLast = index === segments.length - 1;
    if (plain === '..') kept.pop();
    else if (plain !== '.') {
      kept.push(segment);
      continue;
    }
    if (isLast) kept.push('');
  }
  return `/${kept.join('/')}`;
}

/** The value of the first `n`. May return 0, which the relay refuses with a separate message. */
function readCount(query) {
  const pair = query.split('&').find((part) => part === 'n' || part.startsWith('n='));
  if (pair === undefined) return 1;
  const text = pair.slice(2);
  if (!/^\d+$/.test(text) || Number(text) > MAX_RECEIVERS) return undefined;
  return Number(text);
}

/** The first 16 hexadecimal digits of a key's SHA-256. */
export function digest(key) {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
