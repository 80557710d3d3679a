/** Returns a generator of numbers below `limit`, the same in every run (mulberry32). */
export function seededRandom(seed) {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/** Returns at most `maxBytes` of UTF-8: characters of every width, NUL, emoji, runs of digits. */
export function randomText(random, maxBytes = 512) {
  const pieces = [
    () => '\0',
    () => '😀👩‍🚀🇨🇭',
    () => '7'.repeat(1 + random(12)),
    () => String.fromCodePoint(random(0x80)),
    () => String.fromCodePoint(0x80 + random(0x780)),
    () => String.fromCodePoint(0x800 + random(0xd000)),
    () => String.fromCodePoint(0x10000 + random(0x100000)),
  ];
  const wanted = 1 + random(maxBytes);
  let text = '';
  for (;;) {
    const longer = text + pieces[random(pieces.length)]();
    if (Buffer.byteLength(longer) > wanted) return text || '\0';
    text = longer;
  }
}
