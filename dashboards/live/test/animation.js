/** Animations from pictures in WebP, by its container format (RFC 9649): a picture's chunk becomes a frame's. */

/** Makes an endless animation from pictures of one size: `[{ picture, milliseconds }]`. */
export function animate(frames, { width, height }) {
  const size = Buffer.concat([unsigned24(width - 1), unsigned24(height - 1)]);
  const head = chunk('VP8X', Buffer.concat([Buffer.from([ANIMATED, 0, 0, 0]), size]));
  const parts = frames.map(({ picture, milliseconds }) => {
    const place = Buffer.alloc(6);
    const shown = Buffer.concat([unsigned24(milliseconds), Buffer.from([NOT_BLENDED])]);
    return chunk('ANMF', Buffer.concat([place, size, shown, bitsOf(picture)]));
  });
  const all = Buffer.concat([Buffer.from('WEBP'), head, chunk('ANIM', Buffer.alloc(6)), ...parts]);
  return chunk('RIFF', all);
}

const ANIMATED = 2;
const NOT_BLENDED = 2;

/** Returns the chunk with a picture's pixels. */
function bitsOf(picture) {
  for (let at = 12; at < picture.length; ) {
    const id = picture.toString('latin1', at, at + 4);
    const length = picture.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    if (id === 'VP8 ' || id === 'VP8L') return picture.subarray(at, end);
    at = end;
  }
  throw new Error('no picture in WebP');
}

function chunk(id, data) {
  const head = Buffer.alloc(8);
  head.write(id, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

function unsigned24(number) {
  const bytes = Buffer.alloc(3);
  bytes.writeUIntLE(number, 0, 3);
  return bytes;
}
