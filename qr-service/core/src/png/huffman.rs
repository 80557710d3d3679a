//! Huffman codes for deflate (RFC 1951 sections 3.2.2 and 3.2.7): code lengths from counts, codes
//! from lengths, and the header that transmits them.
//!
//! Codes and headers are made from lengths by `const` functions, so prepared codes cost nothing at
//! run time.

/// Number of literals, end of block and length codes together.
pub(crate) const LITERALS: usize = 286;
/// Number of distance codes.
pub(crate) const DISTANCES: usize = 30;
/// The symbol that ends a block.
pub(crate) const END_OF_BLOCK: usize = 256;
/// The longest code of literals, lengths and distances, in bits.
const MAX_BITS: usize = 15;
/// The longest code of code lengths, in bits.
const MAX_LENGTH_BITS: usize = 7;
/// Number of symbols of the code for code lengths.
const LENGTH_SYMBOLS: usize = 19;
/// The order in which the header lists the lengths of that code.
const LENGTH_ORDER: [usize; LENGTH_SYMBOLS] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Bytes of the longest header, 3 + 14 + 19 * 3 bits and 316 lengths of at most 7 + 7 bits; and two more, because
/// [`Header::put`] writes three bytes at a time.
const MAX_HEADER: usize = 576 + 2;

/// Code lengths for one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) literals: [u8; LITERALS],
    pub(crate) distances: [u8; DISTANCES],
}

/// The codes of a block: each symbol's code, the first bit least significant, with its length from bit 16 on; 0 for
/// symbols without a code.
pub(crate) struct Codes {
    pub(crate) literals: [u32; LITERALS],
    pub(crate) distances: [u32; DISTANCES],
    pub(crate) header: Header,
    /// Bits of the longest code of a literal.
    pub(crate) longest: u8,
}

/// The bits at the start of a block that transmit its codes, the first bit least significant.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    bytes: [u8; MAX_HEADER],
    bits: usize,
}

impl Header {
    /// The whole bytes, the bits after them, and the number of those bits.
    pub(crate) const fn parts(&self) -> (&[u8], u8, u32) {
        let whole = self.bits / 8;
        (self.bytes.split_at(whole).0, self.bytes[whole], (self.bits % 8) as u32)
    }

    /// Appends the low `count` bits of `value`, at most 16; its other bits must be zero.
    pub(crate) const fn put(&mut self, value: usize, count: u32) {
        let (at, bits) = (self.bits / 8, value << (self.bits % 8));
        self.bytes[at] |= bits as u8;
        self.bytes[at + 1] |= (bits >> 8) as u8;
        self.bytes[at + 2] |= (bits >> 16) as u8;
        self.bits += count as usize;
    }

    pub(crate) const fn put_code(&mut self, code: u32) {
        self.put((code & 0xffff) as usize, code >> 16);
    }

    /// Appends up to 48 bits.
    pub(crate) const fn put_bits(&mut self, (bits, count): (u64, u32)) {
        let mut at = 0;
        while at < count {
            self.put((bits >> at) as usize & 0xffff, if count - at < 16 { count - at } else { 16 });
            at += 16;
        }
    }
}

/// The canonical code with these lengths (RFC 1951 section 3.2.2).
const fn canonical<const N: usize>(lengths: &[u8; N]) -> [u32; N] {
    let mut count = [0; MAX_BITS + 1];
    let mut i = 0;
    while i < N {
        count[lengths[i] as usize] += 1;
        i += 1;
    }
    count[0] = 0;
    let mut next = [0_u32; MAX_BITS + 2];
    let mut bits = 1;
    while bits <= MAX_BITS {
        next[bits + 1] = (next[bits] + count[bits]) << 1;
        bits += 1;
    }
    let mut codes = [0; N];
    i = 0;
    while i < N {
        let len = lengths[i] as u32;
        if len > 0 {
            codes[i] = next[len as usize].reverse_bits() >> (32 - len) | len << 16;
            next[len as usize] += 1;
        }
        i += 1;
    }
    codes
}

/// Run-length encoded code lengths (RFC 1951 section 3.2.7): symbols, with the value of their extra
/// bits.
struct Runs {
    symbols: [(u8, u8); LITERALS + DISTANCES],
    len: usize,
}

impl Runs {
    const fn new(lengths: &Lengths, literals: usize, distances: usize) -> Self {
        let mut runs = Runs { symbols: [(0, 0); LITERALS + DISTANCES], len: 0 };
        let total = literals + distances;
        let mut i = 0;
        while i < total {
            let value = length_at(lengths, literals, i);
            let mut run = 1;
            while i + run < total && length_at(lengths, literals, i + run) == value {
                run += 1;
            }
            i += run;
            runs.push_run(value, run);
        }
        runs
    }

    const fn push(&mut self, symbol: u8, extra: usize) {
        self.symbols[self.len] = (symbol, extra as u8);
        self.len += 1;
    }

    const fn push_run(&mut self, value: u8, mut run: usize) {
        if value > 0 {
            self.push(value, 0);
            run -= 1;
        }
        while run > 0 {
            let (symbol, least, most) = match value {
                0 if run >= 11 => (18, 11, 138),
                0 if run >= 3 => (17, 3, 10),
                1.. if run >= 3 => (16, 3, 6),
                _ => (value, 1, 1),
            };
            let step = if run < most { run } else { most };
            self.push(symbol, step - least);
            run -= step;
        }
    }
}

const fn length_at(lengths: &Lengths, literals: usize, i: usize) -> u8 {
    if i < literals { lengths.literals[i] } else { lengths.distances[i - literals] }
}

/// How many of `lengths` the header lists: up to the last that is not 0, but at least `least`.
const fn len_sent<const N: usize>(lengths: &[u8; N], least: usize) -> usize {
    let mut n = N;
    while n > least && lengths[n - 1] == 0 {
        n -= 1;
    }
    n
}

/// The longest of these lengths.
const fn longest<const N: usize>(lengths: &[u8; N]) -> u8 {
    let (mut most, mut i) = (0, 0);
    while i < N {
        if lengths[i] > most {
            most = lengths[i];
        }
        i += 1;
    }
    most
}

impl Codes {
    /// Codes and header for these lengths.
    pub(crate) const fn new(lengths: &Lengths) -> Self {
        let literals = len_sent(&lengths.literals, 257);
        let distances = len_sent(&lengths.distances, 1);
        let runs = Runs::new(lengths, literals, distances);
        let mut counts = [0; LENGTH_SYMBOLS];
        let mut i = 0;
        while i < runs.len {
            counts[runs.symbols[i].0 as usize] += 1;
            i += 1;
        }
        let of_lengths = lengths_of(&counts, MAX_LENGTH_BITS);
        let codes = canonical(&of_lengths);
        let mut sent = LENGTH_SYMBOLS;
        while sent > 4 && of_lengths[LENGTH_ORDER[sent - 1]] == 0 {
            sent -= 1;
        }
        let mut header = Header { bytes: [0; MAX_HEADER], bits: 0 };
        // Marks the last block of the stream, with dynamic codes.
        header.put(0b101, 3);
        header.put(literals - 257, 5);
        header.put(distances - 1, 5);
        header.put(sent - 4, 4);
        i = 0;
        while i < sent {
            header.put(of_lengths[LENGTH_ORDER[i]] as usize, 3);
            i += 1;
        }
        i = 0;
        while i < runs.len {
            let (symbol, extra) = runs.symbols[i];
            header.put_code(codes[symbol as usize]);
            header.put(
                extra as usize,
                match symbol {
                    16 => 2,
                    17 => 3,
                    18 => 7,
                    _ => 0,
                },
            );
            i += 1;
        }
        Codes {
            literals: canonical(&lengths.literals),
            distances: canonical(&lengths.distances),
            header,
            longest: longest(&lengths.literals),
        }
    }
}

impl Lengths {
    /// The best lengths for these counts. A block needs at least one distance code, even if unused.
    pub(crate) fn of_counts(literals: &[u32; LITERALS], distances: &[u32; DISTANCES]) -> Self {
        let mut lengths = Lengths {
            literals: lengths_of(literals, MAX_BITS),
            distances: lengths_of(distances, MAX_BITS),
        };
        if distances.iter().all(|&count| count == 0) {
            lengths.distances[0] = 1;
        }
        lengths
    }
}

/// Code lengths of a Huffman code for these counts, none over `max_bits` (Huffman 1952). If the best
/// code is too deep, [`limit`] shortens it.
const fn lengths_of<const N: usize>(counts: &[u32; N], max_bits: usize) -> [u8; N] {
    // Symbols in use, rarest first.
    let mut order = [0_u16; N];
    let mut used = 0;
    let mut i = 0;
    while i < N {
        if counts[i] > 0 {
            let mut at = used;
            while at > 0 && counts[order[at - 1] as usize] > counts[i] {
                order[at] = order[at - 1];
                at -= 1;
            }
            order[at] = i as u16;
            used += 1;
        }
        i += 1;
    }
    let mut lengths = [0; N];
    if used < 2 {
        if used == 1 {
            lengths[order[0] as usize] = 1;
        }
        return lengths;
    }
    let mut depths = depths_of(counts, &order, used);
    limit(&mut depths, used, max_bits);
    i = 0;
    while i < used {
        lengths[order[i] as usize] = depths[i] as u8;
        i += 1;
    }
    lengths
}

/// Depth of each leaf of the Huffman tree over `order`, which is sorted by count, by the two-queue
/// method: inner nodes are made in order of weight, so the two lightest are always in front.
const fn depths_of<const N: usize>(counts: &[u32; N], order: &[u16; N], used: usize) -> [u16; N] {
    let mut weight = [0_u32; N];
    // Parent of each leaf and of each inner node.
    let mut leaf_parent = [0_u16; N];
    let mut node_parent = [0_u16; N];
    let (mut leaf, mut node, mut made) = (0, 0, 0);
    while made < used - 1 {
        let mut child = 0;
        while child < 2 {
            let take_leaf =
                leaf < used && (node == made || counts[order[leaf] as usize] <= weight[node]);
            if take_leaf {
                weight[made] += counts[order[leaf] as usize];
                leaf_parent[leaf] = made as u16;
                leaf += 1;
            } else {
                weight[made] += weight[node];
                node_parent[node] = made as u16;
                node += 1;
            }
            child += 1;
        }
        made += 1;
    }
    // The root is made last; parents come after their children.
    let mut node_depth = [0_u16; N];
    let mut i = made - 1;
    while i > 0 {
        i -= 1;
        node_depth[i] = node_depth[node_parent[i] as usize] + 1;
    }
    let mut depths = [0; N];
    i = 0;
    while i < used {
        depths[i] = node_depth[leaf_parent[i] as usize] + 1;
        i += 1;
    }
    depths
}

/// Cuts depths, given rarest first, to `max_bits` and keeps the code complete: inflate refuses codes
/// that leave bit patterns unused or use them twice.
const fn limit<const N: usize>(depths: &mut [u16; N], used: usize, max_bits: usize) {
    // Kraft sum in units of the deepest code.
    let full = 1_u32 << max_bits;
    let mut sum = 0;
    let mut i = 0;
    while i < used {
        if depths[i] as usize > max_bits {
            depths[i] = max_bits as u16;
        }
        sum += full >> depths[i];
        i += 1;
    }
    while sum > full {
        // Lengthen the rarest code that is not at the limit yet.
        i = 0;
        while depths[i] as usize == max_bits {
            i += 1;
        }
        sum -= full >> (depths[i] + 1);
        depths[i] += 1;
    }
    while sum < full {
        // Shorten the most frequent code that fits. The deepest code always fits: the sum, and so the gap,
        // is a multiple of its share.
        i = used - 1;
        while full >> depths[i] > full - sum {
            i -= 1;
        }
        sum += full >> depths[i];
        depths[i] -= 1;
    }
}

#[cfg(test)]
mod tests;
