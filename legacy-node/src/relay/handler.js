/**
 * The relay's request handler, for HTTP/1 and HTTP/2 alike: PUT or POST /p/KEY is streamed to
 * GET /p/KEY, and whoever comes first waits.
 */

import {
  closeIfUnread,
  openLines,
  sendError,
  sendMethodNotAllowed,
  sendOptions,
} from './messages.js';
import { createCounts } from './metrics.js';
import { CLOSING, createPairing, TOO_MANY_KEYS } from './pairing.js';
import { MAX_KEY_BYTES, readTarget } from './target.js';
import { transfer } from './transfer.js';

/**
 * @param {object} limits
 * @param {number} limits.maxWaitingKeys keys on which somebody may wait at once
 * @param {number} limits.waitTimeoutMs longest wait for a partner
 * @returns {{handle: (req, res) => void, pairing, counts}}
 */
export function createRelay({ maxWaitingKeys, waitTimeoutMs }) {
  const pairing = createPairing(maxWaitingKeys);
  const counts = createCounts();
  return { handle, pairing, counts };

  function handle(req, res) {
    // A client that leaves is not an error; 'close' handles it.
    req.on('error', () => {});
    res.on('error', () => {});
    res.setHeader('X-Served-By', 'legacy-node');
    const { key, n } = readTarget(req.url);
    if (key === undefined) return sendError(res, 404, 'Keys are below /p/.');
    switch (req.method) {
      case 'PUT':
      case 'POST':
        return handleSender(req, res, key, n);
      case 'GET':
        return handleReceiver(req, res, key, n);
      case 'OPTIONS':
        return sendOptions(req, res);
      default:
        return sendMethodNotAllowed(req, res);
    }
  }

  function handleSender(req, res, key, n) {
    closeIfUnread(req, res);
    if (req.headers['content-range'] !== undefined) {
      return sendError(res, 400, `Content-Range is not supported for now in ${req.method}`);
    }
    if (n === undefined) return sendError(res, 400, 'Invalid "n" query parameter');
    if (n === 0) return sendError(res, 400, 'n should > 0, but n = 0.');
    if (key.length > MAX_KEY_BYTES) return refuseKey(res);
    const sender = { req, res, sends: true, came: performance.now() };
    const { refusal, connected, pair } = pairing.addSender(key, n, sender);
    if (refusal) return refuse(res, refusal);
    sender.lines = openLines(req, res);
    sender.lines.info(`Waiting for ${n} receiver(s)...`);
    if (connected !== undefined) {
      sender.lines.info(`${connected} receiver(s) has/have been connected.`);
    }
    wait(key, sender, 'No receiver came in time.', (why) => sender.lines.end(`[ERROR] ${why}\n`));
    if (pair) start(key, pair);
  }

  function handleReceiver(req, res, key, n) {
    if (req.headers['service-worker'] === 'script') {
      return sendError(res, 400, 'Service Worker registration is rejected.');
    }
    if (n === undefined) return sendError(res, 400, 'Invalid query parameter "n"');
    if (n === 0) return sendError(res, 400, 'n should > 0, but n = 0.');
    if (key.length > MAX_KEY_BYTES) return refuseKey(res);
    const receiver = { req, res, came: performance.now() };
    const { refusal, sender, pair } = pairing.addReceiver(key, n, receiver);
    if (refusal) return refuse(res, refusal);
    sender?.lines.info('A receiver was connected.');
    wait(key, receiver, 'No sender came in time.', (why) => sendBusy(res, why));
    if (pair) start(key, pair);
  }

  /**
   * Removes a client that leaves while it waits, and ends a wait that takes too long.
   * @param {(why: string) => void} endAnswer
   */
  function wait(key, who, late, endAnswer) {
    const { req, res } = who;
    const forget = (end) => {
      clearTimeout(timer);
      if (pairing.leave(key, who)) counts.unpairedBy(end);
    };
    who.giveUp = (why, end = 'closed') => {
      forget(end);
      endAnswer(why);
    };
    const timer = setTimeout(who.giveUp, waitTimeoutMs, late, 'expired');
    const left = () => forget('left');
    res.once('close', left);
    // HTTP/1 only. A client that half-closes while it waits has left; a receiver that half-closes has left at any time.
    const hangUp = () => res.destroy();
    if (!res.stream) req.socket.once('end', hangUp);
    who.startWorking = () => {
      clearTimeout(timer);
      res.off('close', left);
      if (who.lines && !res.stream) req.socket.off('end', hangUp);
    };
  }

  async function start(key, { sender, receivers }) {
    for (const who of [sender, ...receivers]) who.startWorking();
    sender.res.once('close', () => {
      // If the sender hangs up before its body has ended, its receivers must not see a clean end.
      if (!sender.req.complete) sender.req.destroy();
    });
    const counted = counts.begin(sender, receivers);
    const end = await transfer(sender, receivers, counted.received);
    pairing.finish(key);
    counted.end(end);
  }
}

function refuseKey(res) {
  sendError(res, 414, `A key has at most ${MAX_KEY_BYTES} bytes.`);
}

function refuse(res, refusal) {
  if (refusal === TOO_MANY_KEYS) return sendBusy(res, 'Too many keys are waiting.');
  if (refusal === CLOSING) return sendBusy(res, 'The relay is shutting down.');
  sendError(res, 400, refusal);
}

function sendBusy(res, message) {
  sendError(res, 503, message, { 'Retry-After': '1' });
}
