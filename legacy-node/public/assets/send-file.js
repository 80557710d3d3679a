// Sends one file through the relay, /p/KEY. No DOM here.
//
// A browser shows an HTTP/1.1 answer only after it has sent the whole request, so the relay's lines come late for large
// files. Until then, only the number of bytes that have left the browser shows whether somebody receives.

/** Most bytes that the buffers on the way can take before anybody receives. */
const BUFFERS_BYTES = 16 * 2 ** 20;
/** If bytes move again after this pause, the buffers were full and somebody has begun to read. */
const STILL_MS = 2000;

/** Maps a part of the relay's lines to how the transfer ended; the first match counts. */
const ENDINGS = [
  ['received successfully.', 'received'],
  ['aborted halfway.', 'receiver-left'],
  ['No receiver came in time.', 'nobody-came'],
  ['The relay is shutting down.', 'relay-stopped'],
];

/** A path that nobody can guess: 128 random bits in base64url (RFC 4648, section 5). */
export function newPath() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const base64 = btoa(String.fromCharCode(...bytes));
  return `/p/${base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** Whether the file can be read. Folders cannot, nor can files that have changed since they were chosen. */
export async function isReadable(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts to send at once; the relay waits for a receiver.
 * @param {File} file
 * @param {string} path of `newPath`
 * @param {object} on
 * @param {(receiving: boolean) => void} on.receiving whether somebody receives, each time that changes
 * @param {(bytes: number) => void} on.progress bytes that have left the browser for a
 *   receiver
 * @returns {{ended: Promise<string>, cancel: () => void}} `ended` never rejects: received,
 *   receiver-left, nobody-came, relay-stopped, cancelled, busy, too-large, unreadable, unreachable,
 *   wait-broken, cut or refused
 */
export function sendFile(file, path, on) {
  const request = new XMLHttpRequest();
  const watch = watchReceiver(on.receiving);
  let lines = '';
  request.open('PUT', path);
  request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
  request.setRequestHeader('Content-Disposition', contentDisposition(file.name));
  request.upload.addEventListener('progress', ({ loaded }) => {
    watch.sent(loaded);
    on.progress(watch.isReceiving() ? loaded : 0);
  });
  request.addEventListener('readystatechange', () => {
    // An error empties responseText, so it is kept here.
    lines = request.responseText || lines;
    if (lines.includes('[INFO] Start sending')) watch.set(true);
  });
  const ended = new Promise((resolve) => {
    request.addEventListener('load', () => resolve(endOf(request.status, lines)));
    request.addEventListener('abort', () => {
      resolve('cancelled');
      if (!watch.isReceiving()) release(path);
    });
    request.addEventListener('error', async () => {
      resolve(endingIn(lines) ?? (await endOfError(file, path, watch)));
    });
    // If the receiver leaves, Chromium may silently send the whole request again on a new connection, and wait for
    // another receiver. So when nothing moves, ask the relay whether the key waits again.
    watch.onStill(async () => {
      if (!watch.isReceiving() || lines !== '' || !(await isWaiting(path))) return;
      const left = watch.isBeyondBuffers();
      watch.set(false);
      if (!left) return;
      resolve('receiver-left');
      request.abort();
    });
  });
  ended.then(watch.stop);
  request.send(file);
  return { ended, cancel: () => request.abort() };
}

function endOf(status, lines) {
  if (status === 200) return endingIn(lines) ?? 'cut';
  if (status === 429 || status === 503) return 'busy';
  if (status === 413) return 'too-large';
  return status >= 500 ? 'unreachable' : 'refused';
}

function endingIn(lines) {
  return ENDINGS.find(([text]) => lines.includes(text))?.[1];
}

/** Why a request failed. When a receiver leaves, the relay closes the connection and the browser drops its lines. */
async function endOfError(file, path, watch) {
  if (!(await isReadable(file))) return 'unreadable';
  try {
    const { ok } = await fetch(path, { method: 'OPTIONS' });
    if (!ok) return 'unreachable';
  } catch {
    return 'unreachable';
  }
  return watch.isReceiving() ? 'cut' : 'wait-broken';
}

/** Whether the sender waits: a receiver that asks for `n=2` is refused, and the reason tells whether the key waits. */
async function isWaiting(path) {
  try {
    const answer = await fetch(`${path}?n=2`, { signal: AbortSignal.timeout(STILL_MS) });
    return (await answer.text()).includes('should be 1 but 2');
  } catch {
    return false;
  }
}

/**
 * Frees the key of a sender that left while it waited. A relay that does not read a waiting sender's body notices this
 * only when a receiver comes.
 */
async function release(path) {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), STILL_MS);
  await fetch(path, { signal: abort.signal }).catch(() => {});
  abort.abort();
}

/** Guesses from the bytes sent whether somebody receives. */
function watchReceiver(changed) {
  let receiving = false;
  let last = 0;
  let lastAt = 0;
  let timer;
  const isBeyondBuffers = () => last > BUFFERS_BYTES;
  return {
    set,
    sent,
    onStill,
    isBeyondBuffers,
    isReceiving: () => receiving,
    stop: () => clearInterval(timer),
  };

  function set(value) {
    if (value === receiving) return;
    receiving = value;
    changed(value);
  }

  function sent(bytes) {
    if (bytes <= last) return;
    const now = performance.now();
    const moved = last > 0 && now - lastAt > STILL_MS;
    last = bytes;
    lastAt = now;
    if (moved || isBeyondBuffers()) set(true);
  }

  function onStill(act) {
    timer = setInterval(() => performance.now() - lastAt > STILL_MS && act(), STILL_MS);
  }
}

/**
 * The header that names the file (RFC 6266). `filename*` has the full name (RFC 8187), `filename` an ASCII version for
 * old clients, without the quotes, backslashes and percent signs that are unsafe there (Appendix D).
 */
export function contentDisposition(name) {
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const plain = name.replace(/[^ -~]|["\\%/]/gu, '_');
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}
