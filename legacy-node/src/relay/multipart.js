/** The first part of a `multipart/form-data` body (RFC 2046, section 5.1), as a stream. */

const MAX_PART_HEAD_BYTES = 16 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');

export function isMultipart(req) {
  return /^\s*multipart\/form-data\s*(;|$)/i.test(req.headers['content-type'] ?? '');
}

/**
 * Reads up to the end of the first part's head.
 * @returns {Promise<{headers: object, body: AsyncIterable<Buffer>}>}
 * @throws {Error} if there is no boundary or no part
 */
export async function firstPart(req) {
  const [, quoted, plain] =
    /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(req.headers['content-type']) ?? [];
  const boundary = quoted ?? plain;
  if (!boundary) throw new Error('a multipart body needs a boundary');
  const chunks = req[Symbol.asyncIterator]();
  const opening = Buffer.from(`\r\n--${boundary}\r\n`);
  // A body may begin with its first boundary, or with a preamble.
  let seen = Buffer.from('\r\n');
  for (;;) {
    const start = seen.indexOf(opening);
    // Includes the line end after the boundary, since a part may have no headers.
    const headStart = start + opening.length - 2;
    const end = start < 0 ? -1 : seen.indexOf(HEAD_END, headStart);
    if (end >= 0) {
      const headers = parseHead(seen.subarray(headStart, end).toString('latin1'));
      const rest = seen.subarray(end + HEAD_END.length);
      return { headers, body: untilBoundary(rest, chunks, Buffer.from(`\r\n--${boundary}`)) };
    }
    if (seen.length > MAX_PART_HEAD_BYTES) throw new Error("a part's head is too long");
    const { done, value } = await chunks.next();
    if (done) throw new Error('a multipart body needs a part');
    seen = Buffer.concat([seen, value]);
  }
}

function parseHead(head) {
  const headers = {};
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return headers;
}

/** The part's bytes. Reads and drops the rest of the body, so that the sender can finish. */
async function* untilBoundary(rest, chunks, boundary) {
  let seen = rest;
  for (;;) {
    const end = seen.indexOf(boundary);
    if (end >= 0) {
      if (end > 0) yield seen.subarray(0, end);
      while (!(await chunks.next()).done);
      return;
    }
    // The boundary may begin in these last bytes.
    const sure = seen.length - boundary.length + 1;
    if (sure > 0) {
      yield seen.subarray(0, sure);
      seen = seen.subarray(sure);
    }
    const { done, value } = await chunks.next();
    if (done) throw new Error('a multipart body needs a closing boundary');
    seen = Buffer.concat([seen, value]);
  }
}
