/** Counts pairs by how they ended, and clients that waited in vain. */

/** The functions of `observe` may be replaced, as by histograms; they get seconds. */
export function createCounts() {
  const pairs = { whole: 0, sender_left: 0, receivers_left: 0, cut: 0 };
  const unpaired = { left: 0, expired: 0, closed: 0 };
  const observe = { pairing: () => {}, stream: () => {} };
  let receivedBytes = 0;
  let cutting = false;
  return { begin, unpairedBy, cutRest, totals, observe };

  /** A pair is complete. `received` counts its bytes, `end` its end. */
  function begin(sender, receivers) {
    const times = [sender.came, ...receivers.map(({ came }) => came)];
    const last = Math.max(...times);
    return {
      received(count) {
        receivedBytes += count;
      },
      /** @param {'whole' | 'sender_left' | 'receivers_left'} how */
      end(how) {
        // A pair that ends while the server cuts connections was cut by the server.
        pairs[cutting && how !== 'whole' ? 'cut' : how]++;
        observe.pairing((last - Math.min(...times)) / 1000);
        observe.stream((performance.now() - last) / 1000);
      },
    };
  }

  /**
   * Counts a client whose wait ended without a partner.
   * @param {'left' | 'expired' | 'closed'} end
   */
  function unpairedBy(end) {
    unpaired[end]++;
  }

  /** From now on, pairs that end count as cut by the server. */
  function cutRest() {
    cutting = true;
  }

  function totals() {
    return { pairs, unpaired, receivedBytes };
  }
}
