/** Counts pairs by how they ended, and clients that waited in vain. */

/** `observe` may be replaced by histograms: what they get is seconds. */
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
        // What ends while the server cuts was cut by it.
        pairs[cutting && how !== 'whole' ? 'cut' : how]++;
        observe.pairing((last - Math.min(...times)) / 1000);
        observe.stream((performance.now() - last) / 1000);
      },
    };
  }

  /**
   * The wait of one who never had a partner is over.
   * @param {'left' | 'expired' | 'closed'} end
   */
  function unpairedBy(end) {
    unpaired[end]++;
  }

  /** The connections that are left are about to be cut. */
  function cutRest() {
    cutting = true;
  }

  function totals() {
    return { pairs, unpaired, receivedBytes };
  }
}
