/**
 * Counts sessions by their end, and describes the last ones without key or content, so that the shadow can
 * play them again. The descriptions are those of relay-service.
 */
import { createHash } from 'node:crypto';
import { isMultipart } from './multipart.js';

/** Sessions that are kept. The shadow looks once a second, and plays a few. */
const KEPT = 64;
/** Receivers whose time is told. */
const TOLD = 8;
/** On the requests of a session that is played again. nginx takes it from clients. */
const REPLAYED = 'x-route-shadow';

/** `observe` may be replaced by histograms: what they get is seconds. */
export function createSessions() {
  const pairs = { whole: 0, sender_left: 0, receivers_left: 0, cut: 0 };
  const unpaired = { left: 0, expired: 0, closed: 0 };
  const observe = { pairing: () => {}, stream: () => {} };
  const kept = [];
  // Ids go on rising after a restart.
  let next = Math.floor(Date.now() / 1000) * 1_000_000;
  let receivedBytes = 0;
  let cutting = false;
  return { begin, unpairedBy, cutRest, lines, totals, observe };

  /** A pair is complete. `received` counts its bytes, `end` its end. */
  function begin(sender, receivers) {
    const times = receivers.map(({ came }) => came);
    const last = Math.max(sender.came, ...times);
    const counts = !isReplayed(sender);
    let bytes = 0;
    return {
      received(count) {
        bytes += count;
        if (counts) receivedBytes += count;
      },
      /** @param {'whole' | 'sender_left' | 'receivers_left'} how */
      end(how) {
        if (!counts) return;
        // What ends while the server cuts was cut by it.
        const end = cutting && how !== 'whole' ? 'cut' : how;
        pairs[end]++;
        observe.pairing((last - Math.min(sender.came, ...times)) / 1000);
        observe.stream((performance.now() - last) / 1000);
        keep({ sender, times, bytes, end });
      },
    };
  }

  /**
   * The wait of one who never had a partner is over.
   * @param {'left' | 'expired' | 'closed'} end
   */
  function unpairedBy(end, who) {
    if (isReplayed(who)) return;
    unpaired[end]++;
    if (end === 'closed') return;
    const sender = who.sends ? who : undefined;
    keep({ sender, times: sender ? [] : [who.came], bytes: 0, end });
  }

  /** The connections that are left are about to be cut. */
  function cutRest() {
    cutting = true;
  }

  function keep({ sender, times, bytes, end }) {
    if (kept.length === KEPT) kept.shift();
    const all = sender ? [sender.came, ...times] : times;
    const after = (time) => Math.floor(time - Math.min(...all));
    const came = times.slice(0, TOLD).map((time) => ['receiver', after(time)]);
    if (sender) came.push(['sender', after(sender.came)]);
    came.sort(([, a], [, b]) => a - b);
    const n = Math.max(times.length, 1);
    kept.push(
      JSON.stringify({ id: next++, n, ...(sender && bodyOf(sender.req)), came, bytes, end }),
    );
  }

  /** The last sessions, one JSON object a line. */
  function lines() {
    return kept.map((line) => `${line}\n`).join('');
  }

  function totals() {
    return { pairs, unpaired, receivedBytes };
  }
}

/** The first 16 hexadecimal digits of a key's SHA-256. */
export function digest(key) {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

function isReplayed({ req }) {
  return req.headers[REPLAYED] !== undefined;
}

function bodyOf(req) {
  const framing = req.headers['content-length'] === undefined ? 'chunked' : 'length';
  const method = req.method === 'POST' ? 'POST' : 'PUT';
  return { method, framing, multipart: isMultipart(req) };
}
