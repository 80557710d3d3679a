/**
 * Decides which requests belong together, without knowing HTTP: senders and receivers are opaque objects. A refusal is
 * a text or one of the symbols below.
 */

/** Refusal: the limit of waiting keys is reached. */
export const TOO_MANY_KEYS = Symbol('too many waiting keys');

/** Refusal: no key may begin to wait any more. */
export const CLOSING = Symbol('closing');

/** @param {number} maxWaitingKeys keys on which somebody may wait at once */
export function createPairing(maxWaitingKeys) {
  const waiting = new Map();
  const established = new Set();
  let closing = false;
  return { addSender, addReceiver, leave, finish, close, waiters, holds, waitingKeys, sizes };

  /** @returns {{refusal} | {connected: number, pair: object | undefined}} */
  function addSender(key, n, sender) {
    const entry = waiting.get(key);
    const another = entry?.sender && `Another sender has been connected on '${key}'.`;
    const refusal = another ?? refusalOf(key, n);
    if (refusal) return { refusal };
    const connected = entry?.receivers.length;
    enter(key, n).sender = sender;
    return { connected, pair: pairOf(key) };
  }

  /** @returns {{refusal} | {sender: object | undefined, pair: object | undefined}} */
  function addReceiver(key, n, receiver) {
    const enough = waiting.get(key)?.receivers.length === n;
    const refusal =
      refusalOf(key, n) ?? (enough ? 'The number of receivers has reached limits.' : undefined);
    if (refusal) return { refusal };
    const { receivers, sender } = enter(key, n);
    receivers.push(receiver);
    return { sender, pair: pairOf(key) };
  }

  /** Why neither a sender nor a receiver may come; undefined if they may. */
  function refusalOf(key, n) {
    if (established.has(key)) return `Connection on '${key}' has been established already.`;
    const expected = waiting.get(key)?.n;
    if (expected === undefined && closing) return CLOSING;
    if (expected === undefined && waiting.size >= maxWaitingKeys) return TOO_MANY_KEYS;
    const isRight = expected === undefined || expected === n;
    return isRight ? undefined : `The number of receivers should be ${expected} but ${n}.`;
  }

  /** Removes a client that leaves while it waits. Returns whether it waited. */
  function leave(key, who) {
    const entry = waiting.get(key);
    if (!entry || (entry.sender !== who && !entry.receivers.includes(who))) return false;
    if (entry.sender === who) entry.sender = undefined;
    entry.receivers = entry.receivers.filter((receiver) => receiver !== who);
    if (!entry.sender && entry.receivers.length === 0) waiting.delete(key);
    return true;
  }

  /** Frees the key of an established pair. */
  function finish(key) {
    established.delete(key);
  }

  /** Refuses to let any further free key wait. */
  function close() {
    closing = true;
  }

  /** @returns {object[]} all who wait */
  function waiters() {
    const all = [...waiting.values()];
    return all.flatMap(({ sender, receivers }) => (sender ? [sender, ...receivers] : receivers));
  }

  function holds(key) {
    return waiting.has(key) || established.has(key);
  }

  function waitingKeys() {
    return [...waiting.keys()];
  }

  function sizes() {
    return { waiting: waiting.size, established: established.size };
  }

  function enter(key, n) {
    if (!waiting.has(key)) waiting.set(key, { n, sender: undefined, receivers: [] });
    return waiting.get(key);
  }

  function pairOf(key) {
    const { n, sender, receivers } = waiting.get(key);
    if (!sender || receivers.length < n) return undefined;
    waiting.delete(key);
    established.add(key);
    return { sender, receivers };
  }
}
